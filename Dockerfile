# A worker in an image; docs/ops/image.md says how it is built, and how both images are pinned by digest.
ARG PYTHON_IMAGE=docker.io/library/python:3.13-slim-trixie

FROM ${PYTHON_IMAGE} AS build
WORKDIR /src
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
# Without pip: what runs installs nothing.
RUN python -m venv --without-pip /opt/offturn
# What a worker needs and no embedded server; by hash, and before the code, so that the layer is kept between builds.
COPY requirements-worker.lock ./
RUN pip --python /opt/offturn/bin/python install --require-hashes -r requirements-worker.lock
COPY requirements-build.lock ./
RUN pip install --require-hashes -r requirements-build.lock
COPY pyproject.toml README.md LICENSE ./
COPY api_client api_client
COPY config config
COPY engine engine
COPY worker worker
RUN python -m hatchling build -t wheel -d dist
RUN pip --python /opt/offturn/bin/python install --no-deps --no-index dist/offturn-*.whl

FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title="offturn worker" org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/offturn /opt/offturn
# The root file system is read-only in the cluster, so nothing is written beside the code; it was compiled above.
ENV PATH="/opt/offturn/bin:${PATH}" PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 10001:10001
EXPOSE 8080
ENTRYPOINT ["offturn"]
CMD ["worker"]
