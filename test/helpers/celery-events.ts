/** Messages as Celery publishes them, for tests that need one of their own. */
import type { CelerySources } from '../../src/celery.ts';
import type { TaskEvent } from '../../src/model.ts';

/** A read's context that is never aborted. */
export const context = { signal: new AbortController().signal };

/** One event, or several, in the envelope of kombu. */
export function eventMessage(body: object): string {
  return JSON.stringify({
    body: Buffer.from(JSON.stringify(body)).toString('base64'),
    'content-encoding': 'utf-8',
    'content-type': 'application/json',
    headers: { hostname: 'w1@alpha' },
    properties: { body_encoding: 'base64', delivery_tag: '1' },
  });
}

/** `task-received` of a worker, now. */
export function received(uuid: string): string {
  const timestamp = Date.now() / 1000;
  return eventMessage([
    { type: 'task-received', uuid, name: 'shop.pay', hostname: 'w1@alpha', pid: 1, timestamp, root_id: uuid },
  ]);
}

/** A worker's heartbeat, now. */
export function heartbeat(): string {
  const timestamp = Date.now() / 1000;
  return eventMessage({
    type: 'worker-heartbeat',
    hostname: 'w1@alpha',
    pid: 1,
    freq: 2,
    timestamp,
    active: 0,
    processed: 1,
  });
}

/** The state of a task, `null` when unknown. */
export async function stateOf(sources: CelerySources, id: string): Promise<string | null> {
  return (await sources.tasks.getTask(id, context))?.state ?? null;
}

/** The data of the component with this key. */
export async function componentOf(
  sources: CelerySources,
  key: string,
): Promise<{ status: string; url: string | null | undefined; config: Record<string, unknown> }> {
  const components = await sources.components.listComponents(context);
  const found = components.find((component) => component.key === key);
  if (found === undefined) throw new Error(`There is no component ${key}.`);
  return { status: found.status, url: found.url, config: { ...found.config } };
}

/** Whether the feed reports a gap, and its newest items. */
export async function feedOf(
  sources: CelerySources,
  cursor: string,
): Promise<{ gap: boolean; events: readonly TaskEvent[] }> {
  return await sources.events.listEvents(
    { limit: 1000, since: { cursor }, states: [], workers: [], tasks: [] },
    context,
  );
}

/** The broker's check, as `/healthcheck` requests it, with a time limit. */
export async function checkBroker(
  sources: CelerySources,
  ms = 5000,
): Promise<{ ok: boolean | null; error?: string | null }> {
  return (await sources.health.checkBroker?.({ signal: AbortSignal.timeout(ms) })) ?? { ok: null };
}
