import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { OnFinding } from '../../src/findings/on-finding.ts';
import { createMonitor } from '../../src/http/monitor.ts';
import { memorySources } from '../../src/memory.ts';
import { resolveOptions } from '../../src/options/resolve-options.ts';
import { tellFindings } from '../../src/routes/tell-findings.ts';
import { codeBlocks } from '../packaging/code-blocks.ts';
import { ROOT } from '../packaging/packed.ts';
import { type Receiver, receiveMails, receivePosts } from './receivers.ts';

const QUICK = { lastingMs: 0, intervalMs: 0, aloneMs: 100, everyMs: 20, callMs: 10_000 };
const WAIT = { timeout: 30_000, interval: 20 };
const LINK = 'https://shop.example/monitor/#/tasks?queue=mail+%3C%26%3E&state=PENDING';

// Within the checkout, since the recipes import what hosts have installed.
mkdirSync(join(ROOT, '.cache'), { recursive: true });
const folder = mkdtempSync(join(ROOT, '.cache', 'alerting-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The recipe of the page that exports this function, as it stands there. */
async function recipe(name: string): Promise<OnFinding> {
  const block = codeBlocks('docs/alerting.md').find(({ text }) => text.includes(`function ${name}(`));
  const file = join(folder, `${name}.mjs`);
  writeFileSync(file, block?.text ?? '');
  const module = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as Record<string, OnFinding>;
  const hook = module[name];
  if (hook === undefined) throw new Error(`docs/alerting.md has no ${name}`);
  return hook;
}

/** A monitor of a queue in which a task has waited for 25 minutes. @returns ends the task */
function backlogToldBy(onFinding: OnFinding): { readonly end: () => void; readonly errors: unknown[] } {
  const queue = memorySources({ name: 'jobs' });
  const timestamp = Date.now() - 25 * 60_000;
  queue.record({ id: '1', state: 'PENDING', name: 'mail.send', queue: 'mail <&>', timestamp });
  const errors: unknown[] = [];
  const options = { sources: queue, onFinding, publicUrl: 'https://shop.example/monitor' };
  const monitor = createMonitor(
    resolveOptions({ ...options, onError: (error: unknown) => void errors.push(error) }),
  );
  tellFindings(monitor, QUICK);
  onTestFinished(() => monitor.close());
  return { end: () => queue.record({ id: '1', state: 'SUCCESS' }), errors };
}

async function receiverOf<Received>(opening: Promise<Receiver<Received>>): Promise<Receiver<Received>> {
  const receiver = await opening;
  onTestFinished(() => receiver.close());
  return receiver;
}

describe('the recipes of docs/alerting.md', () => {
  beforeAll(() => vi.stubEnv('PAGERDUTY_ROUTING_KEY', 'R0UT1NGKEY'));
  afterAll(() => vi.unstubAllEnvs());

  it('tell Slack, again after an answer that is none, and with its escapes', async () => {
    const slack = await receiverOf(receivePosts(500));
    vi.stubEnv('SLACK_WEBHOOK_URL', `http://127.0.0.1:${slack.port}/services/T0/B0/x`);
    const { end, errors } = backlogToldBy(await recipe('alertSlack'));
    await vi.waitFor(() => expect(slack.received).toHaveLength(2), WAIT);
    end();
    await vi.waitFor(() => expect(slack.received).toHaveLength(3), WAIT);
    expect(errors.map(String)).toEqual(['Error: Slack answered 500.']);
    expect(slack.received.map(({ path }) => path)).toEqual(Array(3).fill('POST /services/T0/B0/x'));
    expect(slack.received[0]?.headers['content-type']).toBe('application/json');
    const [first, second, third] = slack.received.map(({ body }) => JSON.parse(body) as unknown);
    const summary = 'Queue mail &lt;&amp;&gt;: oldest due 25 min ago, 1 task waiting';
    expect(first).toEqual({ text: `*Warning* (jobs): ${summary} <${LINK}|Open>` });
    expect([second, third]).toEqual([first, { text: `*Resolved* (jobs): ${summary} <${LINK}|Open>` }]);
  });

  it('send mails of one thread', async () => {
    const mails = await receiverOf(receiveMails());
    vi.stubEnv('SMTP_URL', `smtp://127.0.0.1:${mails.port}`);
    const { end } = backlogToldBy(await recipe('alertByMail'));
    await vi.waitFor(() => expect(mails.received).toHaveLength(1), WAIT);
    end();
    await vi.waitFor(() => expect(mails.received).toHaveLength(2), WAIT);
    const headers = mails.received.map((mail) =>
      Object.fromEntries(
        [...mail.replaceAll(/\n[ \t]+/g, ' ').matchAll(/^([\w-]+): (.*)$/gm)].map((match) => [
          match[1],
          match[2],
        ]),
      ),
    );
    expect(headers[0]).toMatchObject({
      From: 'Task monitor <monitor@shop.example>',
      To: 'ops@shop.example',
      Subject: '[warning] Queue mail <&>: oldest due 25 min ago, 1 task waiting',
    });
    expect(headers[1]?.Subject).toMatch(/^\[resolved\] Queue mail/);
    expect(headers[0]?.References).toMatch(/^<[0-9a-f]{16}@task-monitor>$/);
    expect(headers[1]?.References).toBe(headers[0]?.References);
    const text = (mails.received[0] ?? '').replaceAll('=\n', '').replaceAll('=3D', '=');
    expect(text).toContain(LINK);
    expect(text).toContain('"waiting": 1');
  });

  it('open and resolve an incident of PagerDuty, as its Events API v2 demands', async () => {
    const pagerDuty = await receiverOf(receivePosts());
    vi.stubEnv('PAGERDUTY_URL', `http://127.0.0.1:${pagerDuty.port}/v2/enqueue`);
    const { end } = backlogToldBy(await recipe('alertPagerDuty'));
    await vi.waitFor(() => expect(pagerDuty.received).toHaveLength(1), WAIT);
    end();
    await vi.waitFor(() => expect(pagerDuty.received).toHaveLength(2), WAIT);
    const [opened, resolved] = pagerDuty.received.map(
      ({ body }) => JSON.parse(body) as Record<string, unknown>,
    );
    expect(opened).toEqual({
      routing_key: 'R0UT1NGKEY',
      event_action: 'trigger',
      dedup_key: expect.stringMatching(/^.{1,255}$/),
      payload: {
        ...{ summary: 'Queue mail <&>: oldest due 25 min ago, 1 task waiting', severity: 'warning' },
        ...{ source: 'jobs', component: 'mail <&>', class: 'queue_waiting' },
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
        custom_details: expect.objectContaining({ waiting: 1 }),
      },
      links: [{ href: LINK, text: 'Task monitor' }],
    });
    expect(resolved).toMatchObject({ event_action: 'resolve', dedup_key: opened?.dedup_key });
  });
});
