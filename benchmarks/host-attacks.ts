/** The loads of the host benchmark: requests that clients send, and events that are published. */
import { batches, type RawEvent } from './traffic.ts';

/** Which host a load is sent to. */
export type HostKind = 'tasks' | 'workflow' | 'celery' | 'metrics';

/** One load. */
export interface Attack {
  readonly name: string;
  readonly label: string;
  readonly host: HostKind;
  /** Requests, by clients that each wait for an answer before they send the next one. */
  readonly requests?: {
    readonly clients: number;
    readonly seconds: number;
    /** Path behind the host's address; another one for each request. */
    target(request: number): string;
  };
  readonly events?: Publication;
  /** Published before the clock starts. */
  readonly fill?: Publication;
  /** Whether requests are sent while events are published. Default: after them. */
  readonly isTogether?: boolean;
}

/** Messages for the event channel of Celery, and how many events they contain. */
export interface Publication {
  readonly count: number;
  readonly seconds: number;
  messages(): Iterable<string>;
}

const TASKS = '/monitor/api/tasks/';
const BROKEN = `?1=1${'&%'.repeat(7_898)}`;

/** Tasks of the `workflow` host. */
export const WORKFLOW_TASKS = 10_000;
export const workflowId = (index: number): string => `task-${index % WORKFLOW_TASKS}`;

/** Three texts of 4.3 kB that cost a redactor the most. */
const HOSTILE = {
  tokens: 'sk-'.repeat(1_433),
  urls: '://'.repeat(1_433),
  nested: '{"a":{"password":"x"},'.repeat(195),
};

export const ATTACKS: readonly Attack[] = [
  {
    name: 'refused',
    label: 'refused, 15.8 kB of broken pairs, 8 clients',
    host: 'tasks',
    requests: { clients: 8, seconds: 3, target: () => `/refused/api/tasks/${BROKEN}` },
  },
  ...clients(64, 'tasks', 'each', {
    search: ['a new q', (n) => `${TASKS}?q=nowhere${n}`],
    quoted: ["a new q with a quote: q='…", (n) => `${TASKS}?q='nowhere${n}`],
    sorts: ['a new page sorted by name, runtime or state', (n) => `${TASKS}?sort=${sortOf(n)}&since=${n}`],
    stats: ['other figures, stats=1440', (n) => `${TASKS}?stats=1440&limit=0&since=${n}`],
    checks: ['the health with findings', () => '/monitor/healthcheck?checks=findings'],
  }),
  ...clients(32, 'workflow', `workflow of ${WORKFLOW_TASKS.toLocaleString('en')}, each`, {
    graphs: ['another limit of graph', (n) => `${TASKS}task-0/graph/?limit=${limitOf(n)}`],
    updates: ['another limit of updates', (n) => `${TASKS}task-0/graph/updates/?limit=${limitOf(n)}`],
    relations: ['the relations of another task', (n) => `${TASKS}${workflowId(n)}/relations/`],
  }),
  ...clients(64, 'metrics', 'each', { metrics: ['a scrape of 5,000 series', () => '/monitor/metrics'] }),
  {
    name: 'texts',
    label: '3,000 tasks with hostile texts, lists of 1,000 of them',
    host: 'celery',
    requests: {
      clients: 3,
      seconds: 5,
      target: (n) => `${TASKS}?limit=1000&since=${n}&name=${Object.keys(HOSTILE)[n % 3]}`,
    },
    events: { count: 9_000, seconds: 5, messages: () => batches(hostileTexts(1_000), 100) },
  },
  {
    name: 'findings',
    label: '64 clients, each the components with their findings, during 10,000 events/s over 100,000 tasks',
    host: 'celery',
    requests: { clients: 64, seconds: 5, target: () => '/monitor/api/components/' },
    fill: { count: 200_000, seconds: 8, messages: () => batches(openTasks(100_000), 100) },
    events: { count: 50_000, seconds: 5, messages: () => batches(endsOf(50_000), 50) },
    isTogether: true,
  },
  flood('batches', 'messages of 20,000 events', 20_000, 200_000, plainEvents),
  flood('names', '200,000 other names and hosts', 100, 200_000, distinctNames),
  flood('cycles', 'a ring of 120,000 parents', 100, 120_000, ringOfParents),
];

function clients(
  count: number,
  host: HostKind,
  which: string,
  loads: Readonly<Record<string, readonly [label: string, target: (request: number) => string]>>,
): Attack[] {
  return Object.entries(loads).map(([name, [label, target]]) => ({
    name,
    label: `${count} clients, ${which} ${label}`,
    host,
    requests: { clients: count, seconds: 3, target },
  }));
}

function flood(
  name: string,
  label: string,
  size: number,
  count: number,
  events: (count: number) => Iterable<RawEvent>,
): Attack {
  const messages = (): Iterable<string> => batches(events(count), size);
  return { name, label: `events: ${label}`, host: 'celery', events: { count, seconds: 5, messages } };
}

function sortOf(request: number): string {
  return ['name', 'runtime', 'state'][request % 3] as string;
}

function limitOf(request: number): number {
  return 5_000 + (request % 15_000);
}

function received(id: string, fields: RawEvent): RawEvent {
  return {
    type: 'task-received',
    uuid: id,
    hostname: 'w1@alpha',
    pid: 1,
    clock: 1,
    utcoffset: 0,
    timestamp: Date.now() / 1_000,
    args: '(1,)',
    kwargs: '{}',
    retries: 0,
    ...fields,
  };
}

function* plainEvents(count: number): Generator<RawEvent> {
  for (let n = 0; n < count; n += 1) yield received(`plain-${n}`, { name: `shop.task${n % 20}` });
}

const shopTask = (n: number): RawEvent => ({
  ...{ uuid: `open-${n}`, name: `shop.task${n % 200}`, hostname: `w${n % 20}@h` },
});

/** Tasks that run: two events each. */
function* openTasks(count: number): Generator<RawEvent> {
  for (let n = 0; n < count; n += 1) {
    yield received(`open-${n}`, shopTask(n));
    yield received(`open-${n}`, { ...shopTask(n), type: 'task-started' });
  }
}

/** The ends of as many of them; a tenth fails. */
function* endsOf(count: number): Generator<RawEvent> {
  for (let n = 0; n < count; n += 1) {
    const end =
      n % 10 === 0 ? { type: 'task-failed', exception: "E('x')" } : { type: 'task-succeeded', runtime: 1 };
    yield received(`open-${n}`, { ...shopTask(n), ...end });
  }
}

function* distinctNames(count: number): Generator<RawEvent> {
  for (let n = 0; n < count; n += 1) yield received(`named-${n}`, { name: `n${n}`, hostname: `w${n}@h${n}` });
}

function* ringOfParents(count: number): Generator<RawEvent> {
  for (let n = 0; n < count; n += 1) {
    yield received(`ring-${n}`, { name: 'ring', parent_id: `ring-${(n + 1) % count}` });
  }
}

/** This many tasks with each of the texts in all five fields that hold text: three events a task. */
function* hostileTexts(each: number): Generator<RawEvent> {
  for (const [name, text] of Object.entries(HOSTILE)) {
    for (let n = 0; n < each; n += 1) {
      const id = `${name}-${n}`;
      yield received(id, { name, args: text, kwargs: text });
      yield received(id, { type: 'task-retried', exception: text, traceback: text });
      yield received(id, { type: 'task-succeeded', result: text, runtime: 1 });
    }
  }
}
