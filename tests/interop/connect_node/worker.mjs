// A worker for one kind, written as one would against any converge broker: generated code and connect-node over gRPC.
// It answers every task and says what happens as JSON lines on stdout; at the end of its stdin it says goodbye.
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { Stage, WorkerService } from "./gen/worker/v1/worker_pb.js";

const [baseUrl, kind] = process.argv.slice(2);
const decoder = new TextDecoder();
const encoder = new TextEncoder();
const say = (line) => console.log(JSON.stringify(line));

class Outgoing {
  #frames = [];
  #wake = () => {};
  #closed = false;

  send(body) {
    this.#frames.push({ body });
    this.#wake();
  }

  close() {
    this.#closed = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator]() {
    while (true) {
      while (this.#frames.length > 0) yield this.#frames.shift();
      if (this.#closed) return;
      await new Promise((resolve) => (this.#wake = resolve));
    }
  }
}

const client = createClient(WorkerService, createGrpcTransport({ baseUrl }));
const outgoing = new Outgoing();
outgoing.send({ case: "subscribe", value: { kinds: [kind], kindVersions: [1], maxInflight: 4 } });
process.stdin.on("end", () => outgoing.close()).resume();

const defaults = await client.getProviderConfig({ kinds: [kind], kindVersions: [1] });
say({ pulled: defaults.entries.map((entry) => decoder.decode(entry.config)) });

for await (const { body } of client.workStream(outgoing)) {
  if (body.case === "config") {
    say({ pushed: decoder.decode(body.value.config) });
  } else if (body.case === "task") {
    const task = body.value;
    const { name, spec } = task.workReq.resource;
    say({ task: name, stage: Stage[task.stage], spec: decoder.decode(spec) });
    outgoing.send({
      case: "complete",
      value: {
        leaseToken: task.leaseToken,
        claimEpoch: task.claimEpoch,
        stage: task.stage,
        status: encoder.encode(JSON.stringify({ answeredBy: "node", name })),
        conditions: [{ type: "Ready", status: "True", reason: "Answered" }],
      },
    });
  } else {
    say({ unexpected: body.case ?? "a frame that the base contract doesn't know" });
  }
}
say({ ended: true });
