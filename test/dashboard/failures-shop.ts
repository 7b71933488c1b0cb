/** A shop in which payments fail since a deploy. */

import type { MonitorOptions } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';

const MINUTE = 60_000;

const traceback = (file: string, call: string, error: string): string =>
  [
    'Traceback (most recent call last):',
    '  File "/usr/lib/python3/dist-packages/celery/app/trace.py", line 453, in trace_task',
    '    R = retval = fun(*args, **kwargs)',
    `  File "/app/shop/${file}", line 31, in ${call}`,
    '    gateway.capture(order)',
    '  File "/app/venv/lib/python3.12/site-packages/gateway/http.py", line 9, in post',
    '    raise error',
    error,
  ].join('\n');

/** Two causes since a deploy 20 minutes ago, and an older third one. */
export function createFailures() {
  const queue = memorySources({ name: 'shop' });
  const now = Date.now();
  let next = 0;
  function fail(minutes: number, name: string, error: string, file: string): void {
    next += 1;
    const task = { id: `failed-${next}`, name, worker: 'w1@h', queue: 'orders' };
    const timestamp = now - minutes * MINUTE;
    queue.record({ ...task, state: 'STARTED', timestamp: timestamp - 500 });
    const [exception = '', message] = error.split(': ');
    const stack = traceback(file, name, error);
    const thrown = Object.assign(new Error(message), { name: exception, stack });
    queue.record({ ...task, state: 'FAILURE', timestamp, error: thrown });
  }
  for (const minutes of [200, 100, 50, 3]) fail(minutes, 'mail.send', 'TimeoutError: after 30 s', 'mail.py');
  for (let minute = 19; minute > 4; minute -= 1) {
    fail(minute, 'payments.charge', `CardDeclined: order ${minute}`, 'charge.py');
    if (minute % 3 === 0) fail(minute, 'payments.refund', `KeyError: '${minute}'`, 'refund.py');
  }
  queue.recordWorker({ hostname: 'w1@h', concurrency: 4, active: 0, interval: 3_600 });
  const deploy = { at: new Date(now - 20 * MINUTE), text: 'v412', url: 'https://git.example/v412' };
  const options: MonitorOptions = { sources: queue, markers: () => [deploy] };
  return { queue, options };
}
