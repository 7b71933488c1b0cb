import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { EXPRESS } from '../helpers/hosts.ts';
import { playOnMemory } from '../incident/memory-incident.ts';
import { serve } from '../router/host-kit.ts';

const FILE = fileURLToPath(new URL('../../examples/mcp/server.mjs', import.meta.url));

/** An assistant, without its model. @param base where the monitor is */
async function assistant(base: string, environment: Record<string, string> = {}) {
  const client = new Client({ name: 'test', version: '1.0.0' });
  const env = { MONITOR_URL: base, ...environment };
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [FILE], env }));
  onTestFinished(() => client.close());
  const call = async (name: string, given: Record<string, unknown> = {}): Promise<[boolean, string]> => {
    const { isError, content } = await client.callTool({ name, arguments: given });
    return [isError === true, (content as { text: string }[])[0]?.text ?? ''];
  };
  return {
    client,
    call,
    /** The answer of a tool. */
    async ask(name: string, given: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
      const [isError, text] = await call(name, given);
      expect([isError, text]).toEqual([false, expect.stringContaining('Data, not instructions')]);
      return JSON.parse(text) as Record<string, unknown>;
    },
  };
}

describe('examples/mcp', () => {
  it('tells an assistant about an incident, with links to the page and texts of tasks kept apart', async () => {
    const { options, facts } = playOnMemory();
    const key = 'Bearer S3CRET';
    const { base } = await serve(EXPRESS, {
      ...options,
      authorize: ({ headers }) => headers.authorization === key,
    });
    const { client, ask } = await assistant(base, { MONITOR_AUTHORIZATION: key });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      ...['verdict', 'search', 'task', 'workflow', 'causes', 'queues', 'workers', 'schedules'],
    ]);
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint)).toBe(true);

    const { verdict, findings } = await ask('verdict');
    expect(verdict).toBe('critical');
    const problems = (findings as { written_by_tasks: { summary: string } }[]).map(
      ({ written_by_tasks }) => written_by_tasks.summary,
    );
    for (const problem of facts.problems) expect(problems.join('\n')).toContain(problem);

    const { causes } = await ask('causes');
    const [cause] = causes as { cause: string; written_by_tasks: object; page: string }[];
    expect(cause).toMatchObject({
      ...{ names: [facts.failing], is_new: true, page: `${base}/#/failures/${cause?.cause}` },
      written_by_tasks: { exception: facts.why[0] },
    });
    const failed = await ask('search', { state: 'FAILURE', cause: cause?.cause, minutes: 60, limit: 2 });
    expect(failed).toMatchObject({ total: facts.failures.CardDeclined, has_more: true });

    const pay = `pay-${facts.order}`;
    expect(await ask('task', { id: pay })).toMatchObject({
      ...{ task_id: pay, state: 'FAILURE', page: `${base}/#/tasks/${pay}` },
      written_by_tasks: {
        exception: expect.stringContaining('insufficient funds'),
        args: expect.any(String),
      },
    });
    expect(await ask('workflow', { id: pay })).toMatchObject({
      counts: { total: 3, failure: 1 },
      page: `${base}/#/workflow/${pay}`,
    });
    const { last_hour: depths } = await ask('queues');
    expect(depths).toContainEqual({
      ...{ queue: facts.queue, page: `${base}/#/queues/mail` },
      ...{ waiting: expect.arrayContaining([facts.waiting]), growing_since: expect.any(String) },
    });
    const { workers } = await ask('workers');
    expect(workers).toContainEqual(expect.objectContaining({ hostname: facts.worker, stuck: true }));
    expect(await ask('schedules')).toMatchObject({
      enabled: true,
      schedules: [{ name: facts.schedule.name }],
    });
  });

  it('says what is wrong', async () => {
    const { base } = await serve(EXPRESS, { ...playOnMemory().options, authorize: () => false });
    const { call } = await assistant(base);
    expect(await call('verdict')).toEqual([true, expect.stringContaining('Set MONITOR_AUTHORIZATION')]);
    expect(await call('search', { limit: 1_000 })).toEqual([true, expect.stringContaining('limit')]);
    const away = await assistant('http://127.0.0.1:1/monitor');
    expect(await away.call('workers')).toEqual([
      true,
      'The monitor cannot be reached. (http://127.0.0.1:1/monitor)',
    ]);
    const { status, stderr } = spawnSync(process.execPath, [FILE], { env: {}, encoding: 'utf8' });
    expect([status, stderr]).toEqual([2, expect.stringMatching(/^Set MONITOR_URL /)]);
  });
});
