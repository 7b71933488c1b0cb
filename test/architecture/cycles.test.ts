import { describe, expect, it } from 'vitest';
import { filesBelow, importsOf } from './source-files.ts';

/**
 * Folders whose children still import each other in circles. To be emptied: delete a row when its folder is
 * clean, add none.
 */
const NOT_YET: readonly string[] = [];

/** What each child of a folder imports of its siblings. A child is a subfolder with all that is below it, or a file. */
type Children = Map<string, Set<string>>;

/** `read.ts` belongs to the child `read`, as all of the folder `read/` does. */
function childOf(path: string, folder: string): string {
  return path.slice(folder.length + 1).replace(/(?:\/.*|\.tsx?)$/, '');
}

/** Every folder of src with its children. An import counts where the ways to both files part. */
function foldersOf(): Map<string, Children> {
  const folders = new Map<string, Children>();
  for (const file of filesBelow('src', ['.ts', '.tsx'])) {
    for (const target of importsOf(file)) {
      if (!/^src\/.*\.tsx?$/.test(target)) continue;
      const steps = file.path.split('/');
      for (let depth = 1; depth < steps.length; depth += 1) {
        const folder = steps.slice(0, depth).join('/');
        if (!target.startsWith(`${folder}/`)) break;
        const [from, to] = [childOf(file.path, folder), childOf(target, folder)];
        if (from === to) continue;
        const children = folders.get(folder) ?? new Map();
        folders.set(folder, children.set(from, (children.get(from) ?? new Set()).add(to)));
        break;
      }
    }
  }
  return folders;
}

/** One circle of imports between these children, as a path; `null` when there is none. */
function circleIn(children: Children): string | null {
  const done = new Set<string>();
  const visit = (child: string, way: readonly string[]): string | null => {
    if (way.includes(child)) return [...way.slice(way.indexOf(child)), child].join(' -> ');
    if (done.has(child)) return null;
    for (const next of children.get(child) ?? []) {
      const circle = visit(next, [...way, child]);
      if (circle !== null) return circle;
    }
    done.add(child);
    return null;
  };
  for (const child of children.keys()) {
    const circle = visit(child, []);
    if (circle !== null) return circle;
  }
  return null;
}

describe('folders', () => {
  const circles = new Map(
    [...foldersOf()].flatMap(([folder, children]) => {
      const circle = circleIn(children);
      return circle === null ? [] : [[folder, circle] as const];
    }),
  );

  it('do not import each other in circles', () => {
    const found = [...circles].filter(([folder]) => !NOT_YET.includes(folder));
    expect(found.map(([folder, circle]) => `${folder}: ${circle}`)).toEqual([]);
  });

  it('are on the list of those to be cleaned only as long as they need it', () => {
    expect(NOT_YET.filter((folder) => !circles.has(folder))).toEqual([]);
  });
});
