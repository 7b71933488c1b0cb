import { describe, expect, it } from 'vitest';
import { filesBelow } from './source-files.ts';

/**
 * Tests ask by `test/helpers/ask.ts`, which holds every response against openapi.json. These do otherwise,
 * and why.
 */
const OTHERS: Readonly<Record<string, string>> = {
  'test/alerting/instances.test.ts': 'is a process of its own, which tells a receiver',
  'test/helpers/rabbitmq.ts': 'asks the management API of RabbitMQ',
  'test/examples/pg-boss.test.ts': 'fetches jobs of pg-boss',
  'test/faults/hosts-process.test.ts': 'asks processes of their own',
  'test/faults/kit/programs/fd-limit.mjs': 'is a process of its own',
  'test/faults/kit/programs/hardened-routes.mjs': 'is a process of its own',
  'test/faults/kit/programs/traced-host.mjs': 'is a process of its own',
  'test/faults/kit/canary-thread.mjs': "asks a route of the host's own",
  'test/helpers/ask.ts': 'is the way itself',
  'test/helpers/ask-many.ts': 'floods, where only status and time matter',
  'test/hosts/host-project.ts': 'waits until a host answers anything',
  'test/helpers/ask-stream.ts': 'follows streams, and checks every message',
  'test/metrics/own-metrics-options.test.ts': 'runs its requests in a process of its own',
  'test/metrics/prometheus.ts': 'asks Prometheus',
  'test/metrics/metrics-route.test.ts': 'runs its requests in a process of its own',
  'test/metrics/sharing.test.ts': 'leaves before the answer comes',
  'test/metrics/real-prometheus.test.ts': 'asks the exporter and Prometheus, too, and compares',
  'test/packaging/consumer-program.ts': 'is run in a project that has nothing of the checkout',
  'test/packaging/pages-code.test.ts': 'is run in a project that has nothing of the checkout',
  'test/read/read.test.ts': 'leaves before the answer comes',
  'test/router/express-layers.test.ts': 'asks a plain Node server, where no path but ours is answered',
  'test/router/http2.test.ts': 'asks over HTTP/2',
  'test/router/lifecycle.test.ts': 'leaves before the answer comes',
  'test/routes/workflow-sharing.test.ts': 'leaves before the answer comes',
  'test/router/long-pages.test.ts': 'leaves before the answer comes',
  'test/router/warnings.test.ts': 'runs its requests in a process of its own',
};

const SENDS =
  /\bfetch\(|\bhttps?\.(?:get|request)\(|import \{[^}]*\b(?:get|request)\b[^}]*\} from 'node:https?'/;

describe('requests of tests', () => {
  it('go by the helper that checks every response', () => {
    const strays = filesBelow('test')
      .filter(({ path, text }) => !path.startsWith('test/architecture/') && SENDS.test(text))
      .map(({ path }) => path)
      .filter((path) => !Object.hasOwn(OTHERS, path));
    expect(strays).toEqual([]);
  });
});
