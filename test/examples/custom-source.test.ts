import { describe, expect, it } from 'vitest';
import type { GraphBody, TasksBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { ALL_WELL, askAll, startExample, statuses, waitFor } from './example-process.ts';

describe('examples/custom-source', () => {
  it('answers what its source has, and 501 or "not enabled" for what it does not have', async () => {
    const { base, end } = await startExample(['examples/custom-source/server.mjs']);
    expect(statuses(await askAll(base))).toEqual({
      ...ALL_WELL,
      '/api/workers/': 501,
      '/api/events/latest/': 501,
      '/metrics': 404,
    });
    const { body } = await waitFor(
      () => ask<TasksBody>(base, '/api/tasks/?state=SUCCESS&state=FAILURE&order=asc&stats=5'),
      (answer) => answer.body.tasks.length > 2,
    );
    expect(body.tasks[0]).toMatchObject({
      source: 'jobs',
      name: 'import',
      done: true,
      kwargs: expect.any(String),
    });
    expect(body.stats?.names.map(({ name }) => name)).toContain('import');
    const { body: graph } = await ask<GraphBody>(base, '/api/tasks/1/graph/');
    expect(graph.nodes.filter(({ kind }) => kind === null)).toHaveLength(3);
    expect(graph.edges.map(({ kind }) => kind)).toEqual(['group', 'group', 'group']);
    expect(await end('SIGTERM')).toEqual({ code: 0, stderr: '' });
  });
});
