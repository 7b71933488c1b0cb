/** Runs a program against the built package, in a process of its own with one version of Express. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ExpressMajor } from '../../helpers/hosts.ts';
import { endWithProcess } from '../../helpers/redis-server.ts';
import { installed, ROOT } from '../../packaging/packed.ts';

/** How to run it. */
export interface ChildOptions {
  readonly express: ExpressMajor;
  readonly args?: readonly string[];
  /** Of Node. */
  readonly flags?: readonly string[];
  /** How many files it may have open. Default: as many as this process. */
  readonly openFiles?: number;
}

/** What came of it. */
export interface ChildOutcome {
  readonly code: number | null;
  /** Of both streams. */
  readonly output: string;
  /** Milliseconds between that it has written this text and its end. */
  msAfter(text: string): number;
}

const PROGRAMS = new URL('./programs/', import.meta.url);
let projects = 0;

/**
 * Runs a module to its end.
 *
 * @param program its text, or the name of a file in `kit/programs`: `./name.mjs`
 */
export function runChild(program: string, options: ChildOptions): Promise<ChildOutcome> {
  const { child, outcome } = startChild(program, options);
  child.stdin?.end();
  return outcome;
}

/** Starts a module that ends when its standard input does, if not before. */
export function startChild(
  program: string,
  { express, args = [], flags = [], openFiles }: ChildOptions,
): { readonly child: ChildProcess; readonly outcome: Promise<ChildOutcome> } {
  // Within the checkout, where what the package needs is found; without a `node_modules` of the package's
  // own, so that it gets the Express that this host has.
  projects += 1;
  const folder = join(ROOT, '.cache', `fault-child-${process.pid}-${projects}`);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, 'express-task-monitor'), { recursive: true });
  for (const part of ['dist', 'package.json']) {
    symlinkSync(join(ROOT, part), join(modules, 'express-task-monitor', part));
  }
  symlinkSync(installed(express.name === 'Express 4' ? 'express4' : 'express'), join(modules, 'express'));
  const file = join(folder, 'program.mjs');
  writeFileSync(file, program.startsWith('./') ? readFileSync(new URL(program, PROGRAMS), 'utf8') : program);
  // Programs print JSON; a host without `onError` would get warnings beside it.
  const silent = '--disable-warning=ExpressTaskMonitorWarning';
  const line = [...flags, silent, '--preserve-symlinks', file, ...args];
  const [command, given] =
    openFiles === undefined
      ? [process.execPath, line]
      : ['/bin/sh', ['-c', `ulimit -n ${openFiles} && exec "$0" "$@"`, process.execPath, ...line]];
  const child = spawn(command, given, { cwd: folder, stdio: ['pipe', 'pipe', 'pipe'] });
  endWithProcess(child);
  return { child, outcome: outcomeOf(child) };
}

async function outcomeOf(child: ChildProcess): Promise<ChildOutcome> {
  const written: { readonly text: string; readonly at: number }[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => written.push({ text: String(chunk), at: performance.now() }));
  }
  const [code] = (await once(child, 'close')) as [number | null];
  const ended = performance.now();
  return {
    code,
    output: written.map((part) => part.text).join(''),
    msAfter: (part) => ended - (written.find((one) => one.text.includes(part))?.at ?? Number.NaN),
  };
}
