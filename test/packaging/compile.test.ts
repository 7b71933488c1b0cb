import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TOOLS } from '../helpers/other-node.ts';
import { installed } from './packed.ts';

const COMPILERS: Readonly<Record<string, string>> = {
  'TypeScript 5.9': installed('typescript'),
  'TypeScript 6.0': join(TOOLS, 'typescript6'),
};

const DECLARATION = 'export interface Row { readonly id: string }\nexport declare const rows: Row[];\n';
const HOST = "import { rows } from 'express-task-monitor';\nexport const first: string = rows[0].id;\n";
const WRONG = "export declare const planted: import('./index.js').Missing;\n";

/** What is wrong in each project; the projects are compiled in this order, in one process. */
const PROJECTS = {
  clean: {},
  declaration: { 'node_modules/express-task-monitor/index.d.ts': DECLARATION + WRONG },
  host: { 'host.ts': HOST.replace('string', 'number') },
  syntax: { 'host.ts': `${HOST}export const = 1;\n` },
  other: { 'node_modules/other/index.d.ts': DECLARATION + WRONG },
  missing: { 'host.ts': HOST.replace("'express-task-monitor'", "'express-task-monitor/absent'") },
} as const;

type Project = keyof typeof PROJECTS;

describe.each(Object.entries(COMPILERS))('the compiler of packed types with %s', (_, compiler) => {
  const isMissing = !existsSync(join(compiler, 'lib', 'typescript.js'));
  const place = mkdtempSync(join(tmpdir(), 'monitor-compile-'));
  let errors: Readonly<Record<string, string>> = {};

  function write(project: Project): string {
    const options = { strict: true, noEmit: true, module: 'nodenext', target: 'ES2022', types: [] };
    const manifest = (name: string): string =>
      JSON.stringify({ name, type: 'module', exports: { '.': { types: './index.d.ts' } } });
    const files: Record<string, string> = {
      'package.json': JSON.stringify({ type: 'module' }),
      'tsconfig.json': JSON.stringify({ compilerOptions: options, files: ['host.ts', 'second.ts'] }),
      'host.ts': HOST,
      'second.ts': "import { rows } from 'other';\nexport const second: string = rows[0].id;\n",
      'node_modules/express-task-monitor/package.json': manifest('express-task-monitor'),
      'node_modules/express-task-monitor/index.d.ts': DECLARATION,
      'node_modules/other/package.json': manifest('other'),
      'node_modules/other/index.d.ts': DECLARATION,
      ...PROJECTS[project],
    };
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(place, project, path)), { recursive: true });
      writeFileSync(join(place, project, path), text);
    }
    return join(place, project);
  }

  const errorsOf = (project: Project): string | undefined => errors[join(place, project)];

  beforeAll(() => {
    if (isMissing) return;
    const folders = (Object.keys(PROJECTS) as Project[]).map(write);
    const script = join(import.meta.dirname, 'compile.mjs');
    const output = execFileSync(process.execPath, [script, compiler, ...folders], { encoding: 'utf8' });
    errors = JSON.parse(output);
  });

  afterAll(() => rmSync(place, { recursive: true, force: true }));

  it.skipIf(isMissing)('finds an error that is planted in our declarations or in a host file', () => {
    expect(errorsOf('clean')).toBe('');
    expect(errorsOf('declaration')).toMatch(/express-task-monitor\/index\.d\.ts.*TS2694.*Missing/);
    expect(errorsOf('host')).toMatch(/^host\.ts.*TS2322/);
    expect(errorsOf('syntax')).toMatch(/^host\.ts.*TS1/);
    expect(errorsOf('missing')).toMatch(/^host\.ts.*TS2307/);
  });

  it.skipIf(isMissing)('leaves the declarations of other packages to those', () => {
    expect(errorsOf('other')).toBe('');
  });
});
