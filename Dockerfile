# The worker in a container. The entry point is a list on purpose: a shell as first process would keep SIGTERM to itself.
ARG BASE=python:3.13-slim

FROM ${BASE} AS build
WORKDIR /src
COPY . .
RUN python3 -m venv /opt/stdworker && /opt/stdworker/bin/pip install --no-cache-dir .

FROM ${BASE}
COPY --from=build /opt/stdworker /opt/stdworker
ENV PATH=/opt/stdworker/bin:/usr/local/bin:/usr/bin:/bin HEALTH_ADDR=:8081
USER 65532:65532
EXPOSE 8081
ENTRYPOINT ["stdworker"]
CMD ["run"]
