/** Every view of the page, and the one walk through them. */
import type { TasksBody } from '../../src/wire.ts';
import type { Host } from '../router/host-kit.ts';
import type { Look } from './browser.ts';
import { ids } from './shop.ts';

/** A view of the shop of `shop.ts`. */
export interface View {
  readonly name: string;
  readonly hash: string;
  /** What it reads, as the page calls it where that fails. */
  readonly reads: string;
}

/** One address of each view. */
export const VIEWS: readonly View[] = [
  { name: 'the overview', hash: '#/', reads: 'the figures' },
  { name: 'failures', hash: '#/failures', reads: 'the failures' },
  { name: 'a cause', hash: '#/failures/CAUSE', reads: 'the failures' },
  { name: 'the list', hash: '#/tasks', reads: 'tasks' },
  { name: 'a task', hash: `#/tasks/${ids.failed}`, reads: 'the task' },
  { name: 'a workflow', hash: `#/workflow/${ids.root}`, reads: 'the workflow' },
  { name: 'a workflow as a graph', hash: `#/workflow/${ids.root}?view=graph`, reads: 'the workflow' },
  { name: 'queues', hash: '#/queues', reads: 'the queues' },
  { name: 'a queue', hash: '#/queues/orders', reads: 'this queue' },
  { name: 'names', hash: '#/names', reads: 'the names' },
  { name: 'a name', hash: '#/names/payments.charge', reads: 'this name' },
  { name: 'workers', hash: '#/workers', reads: 'workers' },
  { name: 'a worker', hash: '#/workers/celery%40one', reads: 'workers' },
  { name: 'schedules', hash: '#/schedules', reads: 'schedules' },
  { name: 'the system', hash: '#/system', reads: 'the system' },
];

/** Further addresses: with filters and periods, and of what nobody knows. */
export const MORE_ADDRESSES: readonly string[] = [
  '#/?from=2026-01-02T03:00:00Z&to=2026-01-02T04:00:00Z',
  '#/?compare=1',
  '#/failures?compare=1&name=payments.charge',
  '#/failures?name=labels.print',
  '#/failures/nothing',
  '#/tasks?state=FAILURE&name=payments.charge&group_id=group-1',
  '#/tasks?q=card&q=declined',
  '#/tasks?q=nothing-has-this',
  '#/tasks/nobody',
  '#/workflow/nobody',
  '#/queues/nothing',
  '#/names/nothing',
  '#/workers?show=running',
  '#/nothing',
];

/** The id of the most frequent cause of failures. */
async function causeOf({ get }: Pick<Host, 'get'>): Promise<string> {
  const { stats } = (await get<TasksBody>('/api/tasks/?stats=60&stats_causes=1')).body;
  return stats?.causes?.[0]?.cause ?? 'nothing';
}

/** Goes from view to view, and checks each once it shows what it has asked for. */
export async function walk(
  view: Host & Look,
  hashes: readonly string[],
  check: (hash: string) => Promise<void>,
): Promise<void> {
  const cause = hashes.some((hash) => hash.endsWith('/CAUSE')) ? await causeOf(view) : '';
  for (const hash of hashes) {
    await view.go(hash.replace('CAUSE', cause));
    await view.settled();
    await check(hash);
  }
}
