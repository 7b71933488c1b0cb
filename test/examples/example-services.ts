import { once } from 'node:events';
import { connect } from 'node:net';
import type { GraphBody, TasksBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { type Example, waitFor } from './example-process.ts';

/** Whether something listens on a port of this machine. */
export async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** The ports of the servers that an example says it has started. */
export function portsOf({ printed }: Example): readonly number[] {
  return [...printed().matchAll(/^[A-Z]+_URL=.*127\.0\.0\.1:(\d+)/gm)].map(([, port]) => Number(port));
}

/** The first task of this name that has succeeded; until everything has started, answers may be problems. @returns its id */
export async function untilSucceeded({ base }: Pick<Example, 'base'>, name: string): Promise<string> {
  const { body } = await waitFor(
    () => ask<Partial<TasksBody>>(base, `/api/tasks/?name=${name}&state=SUCCESS&limit=1`),
    ({ body }) => body.tasks?.length === 1,
    60_000,
  );
  return body.tasks?.[0]?.task_id ?? '';
}

/** The names of the tasks in the workflow of a task. */
export async function namesInGraph({ base }: Pick<Example, 'base'>, id: string): Promise<readonly string[]> {
  const { body } = await ask<GraphBody>(base, `/api/tasks/${encodeURIComponent(id)}/graph/`);
  return body.nodes.map(({ task_name }) => task_name ?? '').toSorted();
}

/** Resolves once every part that is checked is well. */
export async function untilHealthy({ base }: Pick<Example, 'base'>): Promise<void> {
  await waitFor(
    () => ask(base, '/healthcheck'),
    ({ status }) => status === 200,
    60_000,
  );
}
