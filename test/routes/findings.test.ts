import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { MonitorOptions, ReadContext } from '../../src/index.ts';
import { combineSources } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';
import type { MonitorSources, TaskSource } from '../../src/source.ts';
import type { ComponentBody, ComponentsBody, HealthBody, RuleBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { type Host, serve } from '../router/host-kit.ts';
import { createShop } from '../router/shop-sources.ts';

async function findingsOf(
  host: Host,
): Promise<Required<Pick<ComponentBody, 'findings' | 'rules' | 'checked_at'>>> {
  const { body } = await host.get<ComponentsBody>('/api/components/');
  return body.findings as Required<ComponentBody>;
}

const serveSources = (sources: MonitorSources): Promise<Host> => serve(EXPRESS, { sources });

/** The status of each rule, by its code. */
const statusOf = (rules: readonly RuleBody[], source: string | null): Record<string, string> =>
  Object.fromEntries(
    rules.filter((rule) => rule.source === source).map(({ code, status }) => [code, status]),
  );

/** A queue with a task that has waited for 25 minutes. */
function backlog(name = 'jobs') {
  const queue = memorySources({ name });
  const timestamp = Date.now() - 25 * 60_000;
  queue.record({ id: `${name} 1`, state: 'PENDING', name: 'mail.send', queue: 'mail', timestamp });
  return queue;
}

describe('the component findings', () => {
  it('has what the rules have found, the evidence, and where to look', async () => {
    const host = await serveSources(backlog());
    const { findings, rules, checked_at } = await findingsOf(host);
    expect(findings).toMatchObject([
      {
        code: 'queue_waiting',
        severity: 'warning',
        source: 'jobs',
        subject: 'mail',
        summary: 'Queue mail: oldest due 25 min ago, 1 task waiting',
        evidence: { waiting: 1 },
      },
    ]);
    expect(Date.parse(checked_at)).not.toBeNaN();
    expect(statusOf(rules, null)).toEqual({ source_down: 'clear' });
    expect(statusOf(rules, 'jobs')).toMatchObject({
      queue_waiting: 'found',
      failure_rate: 'unknown',
      tasks_lost: 'clear',
    });
    const list = await host.get<{ tasks: { task_id: string }[] }>(String(findings[0]?.look));
    expect(list.body.tasks.map(({ task_id }) => task_id)).toEqual(['jobs 1']);
  });

  it('says unknown, and never that all is well, of a source that supplies tasks alone', async () => {
    const tasks: TaskSource = {
      name: 'mine',
      listTasks: () => ({ tasks: [], next: null, total: 0 }),
      getTask: () => null,
    };
    const { findings, rules } = await findingsOf(await serveSources({ tasks }));
    expect(findings).toEqual([]);
    expect(new Set(Object.values(statusOf(rules, 'mine')))).toEqual(new Set(['unknown']));
    const none = await findingsOf(await serveSources({}));
    expect(none.rules).toEqual([
      { code: 'source_down', source: null, status: 'unknown', reason: 'No source is configured.', found: 0 },
    ]);
  });

  it('judges each source of a combination by itself', async () => {
    const quiet = memorySources({ name: 'quiet' });
    const host = await serveSources(combineSources(backlog(), quiet, createShop().sources));
    const { findings, rules } = await findingsOf(host);
    expect(findings.filter(({ code }) => code === 'queue_waiting')).toMatchObject([{ source: 'jobs' }]);
    expect(statusOf(rules, 'quiet')).toMatchObject({ queue_waiting: 'unknown', tasks_lost: 'clear' });
    expect(statusOf(rules, 'shop')).toMatchObject({ failure_rate: 'unknown' });
  });

  it('finds a source that is away once, and judges nothing of it', async () => {
    const shop = createShop();
    const away = { ok: false, asOf: new Date(Date.now() - 60_000), error: 'source_unavailable' } as const;
    const tasks: TaskSource = { ...(shop.sources.tasks as TaskSource), status: () => away };
    const { findings, rules } = await findingsOf(await serveSources({ ...shop.sources, tasks }));
    expect(findings).toMatchObject([
      { code: 'source_down', subject: 'shop', severity: 'critical', source: null },
    ]);
    expect(new Set(Object.values(statusOf(rules, 'shop')))).toEqual(new Set(['unknown']));
  });

  it('looks once in some seconds, however many ask', async () => {
    const queue = backlog();
    let reads = 0;
    const experimental = {
      ...queue.experimental,
      getActivity: (context: ReadContext) => {
        reads += 1;
        return queue.experimental.getActivity(context);
      },
    };
    const host = await serveSources({ ...queue, experimental });
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    await Promise.all(Array.from({ length: 64 }, () => host.get('/api/components/')));
    expect(reads).toBe(1);
  });

  it('has the same start of a wait in every evaluation', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const oldestDueAt = new Date(Date.now() - 25 * 60_000 - 10_321);
    const unknown = { reserved: null, consumers: null };
    const listQueues = () => [{ name: 'mail', waiting: 1, oldestDueAt, ...unknown, asOf: null }];
    const host = await serveSources({ queues: { name: 'shop', listQueues } });
    const first = await findingsOf(host);
    vi.advanceTimersByTime(5_700);
    const second = await findingsOf(host);
    expect(second.checked_at).not.toBe(first.checked_at);
    for (const { findings } of [first, second]) {
      expect(findings).toMatchObject([
        { since: oldestDueAt.toISOString(), evidence: { oldest_due_at: oldestDueAt.toISOString() } },
      ]);
    }
  });

  it('leaves the ETag as it is while nothing else is found', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const queue = backlog();
    const [foundAt, freshAt] = [25, 5].map((minutes) => new Date(Date.now() - minutes * 60_000));
    const row = { waiting: 1, reserved: null, consumers: 2 };
    const listQueues = async () => [
      { ...row, name: 'mail', oldestDueAt: foundAt ?? null, asOf: new Date() },
      { ...row, name: 'images', oldestDueAt: freshAt ?? null, asOf: new Date() },
    ];
    const host = await serveSources({ ...queue, queues: { name: 'jobs', listQueues } });
    const first = await host.get<ComponentsBody>('/api/components/');
    const headers = { 'If-None-Match': String(first.headers.etag) };
    const [statuses, tags, checks] = [new Set(), new Set(), new Set()];
    // The sentence of the finding has whole minutes.
    for (let second = 5; second < 60; second += 5) {
      vi.advanceTimersByTime(5_000);
      const { status, headers: given } = await host.get('/api/components/', { headers });
      statuses.add(status);
      tags.add(given.etag);
      checks.add((await findingsOf(host)).checked_at);
    }
    expect(first.body.findings?.findings).toMatchObject([{ subject: 'mail', since: foundAt?.toISOString() }]);
    expect([[...statuses], [...tags], checks.size]).toEqual([[304], [first.headers.etag], 11]);
  });

  it('shows no secret', async () => {
    const queue = memorySources();
    const schedules = {
      name: 'memory',
      listSchedules: () => [{ id: '1', name: 'sync https://user:hunter2@db/x', nextRunAt: new Date(0) }],
    };
    const host = await serveSources({ ...queue, schedules });
    const { text } = await host.get('/api/components/');
    expect(text).toContain('schedule_missed');
    expect(text).not.toContain('hunter2');
  });
});

describe('the check findings of /healthcheck', () => {
  const schedules = { name: 'beat', listSchedules: () => [] };

  async function check(options: MonitorOptions, query = '?checks=findings') {
    const { get } = await serve(EXPRESS, options);
    return get<HealthBody>(`/healthcheck${query}`);
  }

  it('runs only when it is named', async () => {
    const { body } = await check({ sources: backlog() }, '');
    expect(Object.keys(body.checks)).toEqual(['broker', 'backend', 'workers']);
    const named = await check(
      { sources: backlog(), health: { findings: 'warning' } },
      '?checks=findings,broker',
    );
    expect(Object.keys(named.body.checks)).toEqual(['broker', 'findings']);
    expect([named.status, named.body.ok]).toEqual([503, false]);
  });

  it('fails on critical findings, and on others if the host wants it so', async () => {
    const warning = await check({ sources: backlog() });
    // Not every rule could look.
    expect([warning.status, warning.body.checks.findings]).toMatchObject([200, { ok: null, error: null }]);
    const strict = await check({ sources: backlog(), health: { findings: 'warning' } });
    const error = 'Queue mail: oldest due 25 min ago, 1 task waiting';
    expect([strict.status, strict.body.checks.findings]).toMatchObject([503, { ok: false, error }]);
    const queue = backlog();
    const timestamp = Date.now() - 45 * 60_000;
    for (const name of ['mail', 'images'])
      queue.record({ id: `old ${name}`, state: 'PENDING', name, queue: name, timestamp });
    const found = await check({ sources: queue });
    expect([found.status, found.body.ok]).toEqual([503, false]);
    expect(found.body.checks.findings?.error).toMatch(/^Queue .*45 min ago.* \(and 1 more\)$/);
    expect(found.body.checks.findings?.latency_ms).toBeGreaterThanOrEqual(0);
  });

  it('passes only if every rule has looked', async () => {
    const passes = await check({ sources: { schedules } });
    expect([passes.status, passes.body.checks.findings]).toMatchObject([200, { ok: true, error: null }]);
    const { body } = await check({});
    expect(body.checks.findings).toMatchObject({ ok: null, error: null });
  });

  it('is fixed by an option that says what it takes', () => {
    const options = { health: { findings: 'all' } } as unknown as MonitorOptions;
    expect(() => EXPRESS.createMonitorRouter(options)).toThrow(
      /'health.findings' must be 'critical' or 'warning'/,
    );
  });
});
