/** Reads signatures of tasks that are not sent yet, as messages contain them (celery/canvas.py). */

import { filledString, isRecord } from '../../../values.ts';
import type { Signature } from './messages.ts';

/** Deepest nesting, and most signatures of one message; the rest is left out. */
const MAX_DEPTH = 32;
const MAX_SIGNATURES = 10_000;

/** Celery's names of canvases, for signatures without a `subtask_type`. */
const TYPES: Readonly<Record<string, string>> = {
  'celery.chain': 'chain',
  'celery.group': 'group',
  'celery.chord': 'chord',
  'celery.map': 'map',
  'celery.starmap': 'starmap',
  'celery.chunks': 'chunks',
};

/** Reads the signatures of one message, up to a limit. */
export interface SignatureReader {
  /** Reads a list of signatures or a single one. Everything else is left out. */
  list(value: unknown): Signature[];
  one(value: unknown): Signature | null;
}

/** @returns a reader for one message */
export function createSignatureReader(): SignatureReader {
  let left = MAX_SIGNATURES;

  function one(value: unknown, depth: number): Signature | null {
    if (!isRecord(value) || depth > MAX_DEPTH || left <= 0) return null;
    left -= 1;
    const name = filledString(value.task);
    const type = filledString(value.subtask_type) ?? (name === null ? null : typeOf(name));
    const options = isRecord(value.options) ? value.options : {};
    const kwargs = isRecord(value.kwargs) ? value.kwargs : {};
    const below = depth + 1;
    return {
      name,
      taskId: filledString(options.task_id),
      groupId: filledString(options.group_id),
      type,
      tasks:
        type === 'chord' ? header(kwargs.header, below) : isCanvas(type) ? list(kwargs.tasks, below) : [],
      body: type === 'chord' ? one(kwargs.body, below) : null,
      callbacks: list(options.link, below),
      errbacks: list(options.link_error, below),
      chord: one(options.chord, below),
    };
  }

  function list(value: unknown, depth: number): Signature[] {
    const found: Signature[] = [];
    for (const item of Array.isArray(value) ? value : [value]) {
      const signature = one(item, depth);
      if (signature !== null) found.push(signature);
    }
    return found;
  }

  /** A list of tasks, or a group of them. */
  function header(value: unknown, depth: number): Signature[] {
    const tasks = list(value, depth);
    const [first] = tasks;
    return !Array.isArray(value) && first?.type === 'group' ? [...first.tasks] : tasks;
  }

  return { list: (value) => list(value, 0), one: (value) => one(value, 0) };
}

function typeOf(name: string): string | null {
  return Object.hasOwn(TYPES, name) ? (TYPES[name] ?? null) : null;
}

function isCanvas(type: string | null): boolean {
  return type === 'chain' || type === 'group';
}
