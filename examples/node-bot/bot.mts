// A chat bot in Node, with fetch and nothing else. It keeps its own list of messages; offturn says what to send of it.
//
//   OFFTURN_URL=http://127.0.0.1:8700 OFFTURN_KEY=offturn_... MODEL_URL=http://127.0.0.1:11434/v1 node bot.mts CHAT
//
// Node 22.18 or newer runs TypeScript as it is; before, `npx tsx bot.mts CHAT` does.
//
// Each line of standard input is a message, each answer a line of standard output. When the service is away the bot goes
// on: it sends the last prefix it was given, and its own messages from then on. When the service is back, it hears what it
// missed.
import { createInterface } from 'node:readline';

type Message = { role: string; content: string };
type View = { id: string; prefix: Message[]; tail_from: number };

const { OFFTURN_URL, OFFTURN_KEY, MODEL_URL, MODEL = 'model' } = process.env;
const SECONDS = 5; // that a turn waits for offturn
const chat = process.argv[2] ?? 'chat';
const session = { format: 'openai-chat', window: 16_000 };
const want = { tail: false }; // the tail is ours already

const mine: Message[] = []; // the whole conversation: load it from your own database here, a session follows the list it is told
let view: View = { id: '', prefix: [], tail_from: 0 }; // before the first answer: all of it
let cursor: string | null = null; // where the session is
let told = 0; // so many of our messages are in it
let measured: object = {}; // usage of the last model call, and the view it was made with

async function ask(operation: string, body: object) {
  const response = await fetch(`${OFFTURN_URL}/v1/sessions/${encodeURIComponent(chat)}/${operation}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${OFFTURN_KEY}` },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(SECONDS * 1000),
  });
  const answer = await response.json();
  return { ok: response.ok, status: response.status, answer };
}

/** Tell offturn what is new, and hear what to send. Without it, the last prefix and what came since will do. */
async function turn(): Promise<Message[]> {
  try {
    let said = await ask('turn', { after: cursor, messages: mine.slice(told), session, want, ...measured });
    if (said.status === 409) {
      // An answer was lost on its way, or somebody else has written: our list says what is right.
      said = await ask('mirror', { messages: mine, session, want });
    }
    if (!said.ok) throw new Error(`${said.status} ${said.answer.title}`);
    ({ cursor, view } = said.answer);
    told = mine.length;
    measured = { view: view.id };
  } catch (error) {
    measured = {};
    console.error(`without offturn: ${error instanceof Error ? error.message : error}`);
  }
  return [...view.prefix, ...mine.slice(view.tail_from)];
}

async function answer(messages: Message[]): Promise<string> {
  const response = await fetch(`${MODEL_URL}/chat/completions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ model: MODEL, messages }),
  });
  if (!response.ok) throw new Error(`the model server: ${response.status} ${await response.text()}`);
  const completion = await response.json();
  if ('view' in measured) measured = { ...measured, usage: completion.usage };
  return completion.choices[0].message.content;
}

if (!OFFTURN_URL || !OFFTURN_KEY || !MODEL_URL) {
  console.error('set OFFTURN_URL, OFFTURN_KEY (`offturn keys add --role host` makes one) and MODEL_URL');
  process.exit(2);
}
for await (const line of createInterface({ input: process.stdin })) {
  mine.push({ role: 'user', content: line });
  try {
    const text = await answer(await turn());
    mine.push({ role: 'assistant', content: text });
    console.log(text);
  } catch (error) {
    measured = {};
    console.error(`no answer: ${error instanceof Error ? error.message : error}`);
  }
}
