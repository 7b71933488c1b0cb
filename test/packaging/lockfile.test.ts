import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from './packed.ts';

interface Entry {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly os?: readonly string[];
}

const text = readFileSync(join(ROOT, 'package-lock.json'), 'utf8');
const { packages } = JSON.parse(text) as { readonly packages: Readonly<Record<string, Entry>> };

/** Whether a package finds another one as Node does: beside itself, or further up. */
function finds(path: string, name: string): boolean {
  for (let from = path; ; from = from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/')))) {
    if (packages[`${from}${from === '' ? '' : '/'}node_modules/${name}`]) return true;
    if (from === '') return false;
  }
}

describe('the lockfile', () => {
  it('knows every dependency on every platform, without which `npm ci` refuses to install', () => {
    const absent = Object.entries(packages).flatMap(([path, { dependencies, optionalDependencies }]) =>
      Object.keys({ ...dependencies, ...optionalDependencies })
        .filter((name) => !finds(path, name))
        .map((name) => `${path} -> ${name}`),
    );
    expect(absent).toEqual([]);
  });

  it('keeps what is for other platforms from being fetched on this one', () => {
    const other = Object.entries(packages).filter(([path]) =>
      /-(?:darwin|win32|android|freebsd)-/.test(path),
    );
    expect(other.length).toBeGreaterThan(10);
    expect(other.filter(([, { os }]) => !os).map(([path]) => path)).toEqual([]);
  });

  it('names no registry', () => {
    expect(text).not.toContain('"resolved": "http');
  });
});
