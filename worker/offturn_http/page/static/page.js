// A page that is watched says so in `data-live`. Where it has changed it is loaded again, and its regions are exchanged:
// focus, open details and what is scrolled stay as they are. Without this script the page works as it is.
"use strict";
(() => { // an address that `offturn local` prints brings its key behind the `#`, which no server is told
  const field = document.getElementById("key");
  if (!field || !location.hash.startsWith("#offturn_")) return;
  field.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname + location.search);
  field.form.requestSubmit();
})();
(() => {
  const address = document.body.dataset.live;
  const sign = document.getElementById("live");
  if (!address || !window.EventSource) return;
  let wanted = false;
  let busy = false;
  let pause = 0;

  const say = (text, away) => {
    if (!sign || sign.textContent === text) return;
    sign.textContent = text;
    sign.classList.toggle("away", away);
  };

  const named = (element) => { // by the nearest label, so that a note or a generation that comes before it moves nothing
    const steps = [];
    for (let at = element; at && !at.hasAttribute("data-region"); at = at.parentElement) {
      const label = at.getAttribute("aria-labelledby") || at.getAttribute("aria-label");
      steps.unshift(label || at.tagName + [...at.parentElement.children].filter((one) => one.tagName === at.tagName).indexOf(at));
      if (label) break;
    }
    return steps.join(".");
  };

  const plain = (region) => {
    const copy = region.cloneNode(true);
    for (const one of copy.querySelectorAll("time")) one.remove();
    for (const one of copy.querySelectorAll("details")) one.open = false;
    return copy.innerHTML;
  };

  const exchange = (old, fresh) => {
    if (plain(old) === plain(fresh)) {
      const times = [...fresh.querySelectorAll("time")];
      [...old.querySelectorAll("time")].forEach((one, at) => times[at] && (one.textContent = times[at].textContent));
      return;
    }
    if (old.matches(":active")) return (wanted = true); // a click that has begun would be lost: later, when it is over
    const open = new Set([...old.querySelectorAll("details[open]")].map(named));
    const scrolled = new Map([...old.querySelectorAll(".scroll")].map((one) => [named(one), [one.scrollLeft, one.scrollTop]]));
    const focus = old.contains(document.activeElement) ? named(document.activeElement) : null;
    old.replaceWith(fresh);
    for (const one of fresh.querySelectorAll("details")) one.open = open.has(named(one));
    for (const one of fresh.querySelectorAll(".scroll")) [one.scrollLeft, one.scrollTop] = scrolled.get(named(one)) || [0, 0];
    if (focus === null) return;
    const again = [...fresh.querySelectorAll("a, button, input, select, summary, [tabindex]")].find((one) => named(one) === focus);
    if (again) again.focus({ preventScroll: true });
  };

  const load = async () => {
    if (busy || !wanted || document.hidden) return;
    busy = true;
    wanted = false;
    const began = performance.now();
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (answer.redirected && !answer.url.startsWith(location.origin + location.pathname)) return location.reload();
      if (answer.ok) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        for (const old of document.querySelectorAll("[data-region]")) {
          const fresh = page.getElementById(old.id);
          if (fresh) exchange(old, fresh);
        }
      }
    } catch {
      wanted = true; // the stream tells when the service is back
    } finally {
      busy = false;
      pause = Math.max(500, 4 * (performance.now() - began)); // a long session costs the service work
      setTimeout(load, pause);
    }
  };

  const stream = new EventSource(address);
  stream.addEventListener("watched", () => {
    say("Live", false);
    wanted = true; // what happened between this page and the stream, or while that was away
    load();
  });
  stream.addEventListener("error", () => {
    if (stream.readyState !== EventSource.CLOSED) return say("Waiting for the service", true);
    say("Not live: load the page again", true); // the login has ended, or too many pages watch
    wanted = true;
    load();
  });
  stream.addEventListener("changed", () => {
    wanted = true;
    load();
  });
  document.addEventListener("visibilitychange", load);
})();
