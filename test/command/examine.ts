/** Runs the command `doctor` to its end. */
import { once } from 'node:events';
import { runCommand } from './run-command.ts';

/** What it printed, and its exit status. */
export interface Examined {
  readonly code: number;
  readonly text: string;
}

export async function examine(...words: readonly string[]): Promise<Examined> {
  const { child, printed } = runCommand(['redis', 'ioredis'], ['doctor', ...words]);
  const [code] = (await once(child, 'close')) as [number];
  return { code, text: printed() };
}

/** What it prints with `--json`. */
interface Report {
  readonly ok: boolean;
  readonly checks: readonly { code: string; level: string; summary: string; change?: string }[];
}

export function reportOf({ text }: Pick<Examined, 'text'>): Report {
  return JSON.parse(text) as Report;
}

/** What is wrong. */
export function problemsIn({ checks }: Report): unknown[] {
  return checks.filter(({ level }) => level !== 'ok' && level !== 'unknown');
}
