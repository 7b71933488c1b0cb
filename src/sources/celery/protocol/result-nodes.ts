/**
 * Decodes the trees of tasks and groups in stored results (celery/result.py, `as_tuple`): a task is
 * `[[id, parent], null]`, a group `[[id, parent], [member, …]]`.
 */
import { isId } from './ids.ts';
import { skipSpace, valueEnd } from './json-text.ts';
import type { ResultNode } from './messages.ts';

/** Most nodes of one result, and deepest nesting; the rest is left out. */
const MAX_NODES = 10_000;
const MAX_DEPTH = 16;
/** Characters that so many nodes need, roughly. */
const MAX_LENGTH = 2 * 1024 * 1024;
const NONE: readonly ResultNode[] = [];

/**
 * The tasks and groups in the member `children` of a result. Items of other shapes are left out.
 *
 * @param start where the value begins
 */
export function childrenAt(text: string, start: number | undefined): readonly ResultNode[] {
  if (start === undefined || text[start] !== '[' || text[skipSpace(text, start + 1)] === ']') return NONE;
  const end = valueEnd(text, start);
  if (end - start > MAX_LENGTH) return NONE;
  try {
    const value: unknown = JSON.parse(text.slice(start, end));
    return Array.isArray(value) ? nodesOf(value, { left: MAX_NODES }, 0) : NONE;
  } catch {
    return NONE;
  }
}

/**
 * Decodes a stored group, the value of `celery-taskset-meta-<id>`: `{"result": [[id, parent], [member, …]]}`.
 *
 * @returns `null` if it is not readable
 */
export function decodeGroup(text: string): ResultNode | null {
  if (text.length > MAX_LENGTH) return null;
  try {
    const { result } = JSON.parse(text) as { result?: unknown };
    const node = nodeOf(result, { left: MAX_NODES }, 0);
    return node === null || node.members === null ? null : node;
  } catch {
    return null;
  }
}

interface Budget {
  left: number;
}

function nodesOf(values: readonly unknown[], budget: Budget, depth: number): ResultNode[] {
  const nodes: ResultNode[] = [];
  for (const value of values) {
    if (budget.left <= 0) break;
    const node = nodeOf(value, budget, depth);
    if (node !== null) nodes.push(node);
  }
  return nodes;
}

function nodeOf(value: unknown, budget: Budget, depth: number): ResultNode | null {
  budget.left -= 1;
  if (!Array.isArray(value) || !Array.isArray(value[0]) || depth > MAX_DEPTH) return null;
  const [[id, parent], members] = value as [unknown[], unknown];
  if (!isId(id)) return null;
  if (members === null) return { id, parent: parentOf(parent), members: null };
  if (!Array.isArray(members)) return null;
  return { id, parent: parentOf(parent), members: nodesOf(members, budget, depth + 1) };
}

/** @param value an id, or the tuple of the parent */
function parentOf(value: unknown): string | null {
  const id: unknown = Array.isArray(value) && Array.isArray(value[0]) ? value[0][0] : value;
  return isId(id) ? id : null;
}
