/** Checks a deployment: looks at it for some seconds as a monitor does, and prints what hints and findings say. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { type ComponentsBody, createMonitorClient, type MonitorClient } from '../client.ts';
import { createMonitorHandler } from '../node.ts';
import { type DoctorCommand, openSources } from './read-command.ts';

/** From what is right to what is wrong. `unknown`: it could not be seen in this time. */
const LEVELS = ['ok', 'unknown', 'warning', 'critical'] as const;

/** One thing that was looked at. */
interface Check {
  /** Stable: of a hint, a finding or a rule, or the key of a component. */
  readonly code: string;
  readonly level: (typeof LEVELS)[number];
  readonly summary: string;
  /** What to change, if known. */
  readonly change?: string;
}

/** How long to try to connect, in milliseconds. */
const CONNECT_MS = 10_000;
const RETRY_MS = 200;
/** How much longer it looks while no Celery worker is heard, in seconds: the hints that say why take so long. */
const SILENT_SECONDS = 30;
/** Most time that an answer may take, and that closing may take, in milliseconds. */
const ANSWER_MS = 15_000;
const CLOSE_MS = 5_000;

/**
 * Prints the checks. A signal ends the look early.
 *
 * @returns the exit status: 0 all right, 1 something hides data or is dangerous, 2 it cannot connect
 * @throws UsageError, TypeError for a command that is wrong
 */
export async function examine(command: DoctorCommand): Promise<number> {
  const { sources, end } = await openSources(command, null);
  // Others on this machine can reach the port, too.
  const authorization = randomUUID();
  const handler = createMonitorHandler({
    sources,
    authorize: ({ headers }) => headers.authorization === authorization,
    onError: () => {},
  });
  const server = createServer((request, response) => handler(request, response));
  try {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const client = createMonitorClient(`http://127.0.0.1:${port}`, { headers: { authorization } });
    const { checks, isReached } = await look(client, command);
    const isOk = isReached && !checks.some(isProblem);
    console.log(command.json ? JSON.stringify({ ok: isOk, checks }) : textOf(checks, isReached));
    return isOk ? 0 : isReached ? 1 : 2;
  } finally {
    // A connection that does not end must not keep the process.
    setTimeout(() => process.exit(), CLOSE_MS).unref();
    server.close();
    await handler.close();
    await end();
    server.closeAllConnections();
  }
}

async function look(
  client: MonitorClient,
  { engine, seconds }: DoctorCommand,
): Promise<{ readonly checks: readonly Check[]; readonly isReached: boolean }> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  const read = () => client.components({ signal: AbortSignal.timeout(ANSWER_MS) });
  const readAfter = async (time: number) => {
    await pause(time * 1_000, null, { signal: stop.signal }).catch(() => {});
    return await read();
  };
  const isConnected = await connect(client, stop.signal);
  // Asks the workers, too: hints judge their answers.
  let components = await read();
  if (isConnected) components = await readAfter(seconds);
  const isSilent = components.findings?.findings?.some(({ code }) => code === 'workers_silent');
  if (isSilent && engine === 'celery') components = await readAfter(SILENT_SECONDS);
  return { checks: checksOf(components), isReached: isConnected || isExplained(components) };
}

async function connect(client: MonitorClient, stopped: AbortSignal): Promise<boolean> {
  const end = performance.now() + CONNECT_MS;
  for (;;) {
    const isLast = stopped.aborted || performance.now() >= end;
    const sources = await client.tasks({ limit: 1 }).then(
      (answer) => answer.sources,
      () => [],
    );
    if (sources.length > 0 && sources.every(({ ok }) => ok)) return true;
    if (isLast) return false;
    await pause(RETRY_MS);
  }
}

/** Whether a hint says why something is down, such as a missing right. */
function isExplained(components: ComponentsBody): boolean {
  return Object.values(components).some(
    ({ status, config }) => status === 'down' && textsIn(config?.hints).length > 0,
  );
}

function checksOf(components: ComponentsBody): readonly Check[] {
  const { findings = [], rules = [] } = components.findings ?? {};
  const checks = [
    ...Object.entries(components).flatMap(ofComponent),
    ...rules.flatMap(({ code, status, reason }): Check | readonly Check[] => {
      if (status === 'found') return [];
      return status === 'clear'
        ? { code, level: 'ok', summary: 'Nothing found.' }
        : { code, level: 'unknown', summary: reason ?? 'Not judged.' };
    }),
    ...findings.map(({ code, severity, summary }): Check => ({ code, level: severity, summary })),
  ];
  return checks.toSorted((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level));
}

/** Its status, if it is one of the deployment, and its hints. The finding `source_down` reports those that are down. */
function ofComponent([key, component]: [string, ComponentsBody[string]]): readonly Check[] {
  const { name, status, url, config } = component;
  const codes = textsIn(config?.hint_codes);
  const hints = textsIn(config?.hints).map((hint, at): Check => {
    // The first sentence says what is wrong, and the others what to change.
    const [, summary = hint, change] = /^(.+?\.) (\p{Lu}.*)$/su.exec(hint) ?? [];
    const level = status === 'down' ? 'critical' : 'warning';
    return { code: codes[at] ?? key, level, summary, ...(change !== undefined && { change }) };
  });
  const level = { up: 'ok', unknown: 'unknown', down: null, disabled: null } as const;
  const own = key.includes('.') ? level[status] : null;
  if (own === null) return hints;
  const facts = [url, config?.version].filter((fact) => typeof fact === 'string');
  const summary = `${name}: ${own === 'ok' ? ['up', ...facts].join(', ') : 'unknown'}.`;
  return [{ code: key, level: own, summary }, ...hints];
}

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((text) => typeof text === 'string') : [];
}

/** Checks with the same outcome share a line. */
function textOf(checks: readonly Check[], isReached: boolean): string {
  const lines = new Map<string, Set<string>>();
  for (const { code, level, summary, change } of checks) {
    const line = `${level.padEnd(9)} ${plain(summary)}\n${change === undefined ? '' : `          → ${plain(change)}\n`}`;
    lines.set(line, new Set(lines.get(line)).add(code));
  }
  const texts = [...lines].map(([line, codes]) => line.replace('\n', ` [${[...codes].join(', ')}]\n`));
  return `${texts.join('')}\n${isReached ? conclusionOf(checks) : 'It cannot connect.'}`;
}

function conclusionOf(checks: readonly Check[]): string {
  const count = checks.filter(isProblem).length;
  if (count > 0) return count === 1 ? '1 problem.' : `${count} problems.`;
  const isSeen = checks.every(({ level }) => level === 'ok');
  return isSeen ? 'All right.' : 'No problem found. What is unknown needs more time, or tasks that run.';
}

function isProblem({ level }: Check): boolean {
  return level === 'warning' || level === 'critical';
}

/** Names may hold control characters, which a terminal would obey. */
function plain(text: string): string {
  return text.replace(/\p{C}/gu, '?');
}
