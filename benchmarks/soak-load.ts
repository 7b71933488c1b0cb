/**
 * The mixed load of the soak, for a number of seconds: readers of all routes, pages, graphs and wrong
 * addresses; clients that leave early; streams that open and close; a probe of the host's own route. Prints the
 * results.
 */
import { Agent, get, type IncomingMessage } from 'node:http';

const [base, seconds] = process.argv.slice(2) as [string, string];
const end = performance.now() + Number(seconds) * 1_000;
const agent = new Agent({ keepAlive: true, maxSockets: 50 });
const statuses: Record<string, number> = {};
const canary: number[] = [];
let left = 0;
let messages = 0;
let ids: string[] = ['none'];
let turn = 0;

const running = (): boolean => performance.now() < end;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const count = (status: number | string): void => {
  statuses[status] = (statuses[status] ?? 0) + 1;
};

function ask(path: string): Promise<string> {
  return new Promise((resolve) => {
    get(`${base}${path}`, { agent }, (response) => {
      // The status of a health check does not show how the monitor performs.
      count(path.endsWith('/healthcheck') ? `check ${response.statusCode}` : (response.statusCode ?? 0));
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('close', () => resolve(text));
    }).on('error', () => {
      count('none');
      resolve('');
    });
  });
}

const paths = (id: string): string[] => [
  '/monitor/healthcheck',
  '/monitor/api/components/',
  '/monitor/api/tasks/?limit=100',
  `/monitor/api/tasks/?limit=50&state=SUCCESS&since=${turn}`,
  `/monitor/api/tasks/?q=${turn % 97}&sort=runtime`,
  '/monitor/api/tasks/?stats=60&limit=0',
  `/monitor/api/tasks/${id}/`,
  `/monitor/api/tasks/${id}/relations/`,
  `/monitor/api/tasks/${id}/graph/`,
  `/monitor/api/tasks/${id}/graph/updates/`,
  '/monitor/api/workers/',
  '/monitor/api/events/latest/?limit=200',
  '/monitor/api/beat/schedules/',
  '/monitor/metrics',
  '/monitor/',
  // Invalid requests.
  '/monitor/api/tasks/?limit=x&limit=y&nothing=1',
  '/monitor/api/tasks/%zz/',
  `/monitor/api/tasks/${'x'.repeat(600)}/`,
];

async function reader(): Promise<void> {
  while (running()) {
    turn += 1;
    const id = encodeURIComponent(ids[turn % ids.length] ?? 'none');
    const all = paths(id);
    const path = all[turn % all.length] as string;
    const text = await ask(path);
    if (path.endsWith('limit=100') && text.startsWith('{"tasks"')) {
      ids = (JSON.parse(text) as { tasks: { task_id: string }[] }).tasks.map(({ task_id }) => task_id);
    }
    await pause(5);
  }
}

/** Disconnects before the answer, or in the middle of it. */
async function leaver(): Promise<void> {
  while (running()) {
    left += 1;
    const request = get(`${base}/monitor/api/tasks/?limit=1000&since=${left}`, { agent: false }, (response) =>
      response.once('data', () => response.destroy()),
    );
    request.on('error', () => {});
    await pause(left % 2 === 0 ? 1 : 40);
    request.destroy();
    await pause(60);
  }
}

/** Follows the feed or a graph for some seconds, then disconnects. */
async function follower(number: number): Promise<void> {
  while (running()) {
    const id = encodeURIComponent(ids[number % ids.length] ?? 'none');
    const path = number % 2 === 0 ? '/monitor/api/events/latest/' : `/monitor/api/tasks/${id}/graph/updates/`;
    let open: IncomingMessage | null = null;
    const request = get(
      `${base}${path}`,
      { agent: false, headers: { accept: 'text/event-stream' } },
      (response) => {
        open = response;
        count(response.statusCode ?? 0);
        response.on('data', () => {
          messages += 1;
        });
        response.on('error', () => {});
      },
    );
    request.on('error', () => {});
    await pause(Math.min(2_000 + 300 * number, Math.max(0, end - performance.now())));
    (open as IncomingMessage | null)?.destroy();
    request.destroy();
  }
}

async function probe(): Promise<void> {
  while (running()) {
    const start = performance.now();
    await ask('/canary');
    canary.push(performance.now() - start);
    await pause(50);
  }
}

await Promise.all([
  ...Array.from({ length: 8 }, reader),
  ...Array.from({ length: 2 }, leaver),
  ...Array.from({ length: 20 }, (_, number) => follower(number)),
  probe(),
]);
agent.destroy();
canary.sort((a, b) => a - b);
const p99 = canary[Math.floor(canary.length * 0.99)] ?? 0;
process.stdout.write(JSON.stringify({ statuses, left, messages, canary: canary.length, p99 }));
