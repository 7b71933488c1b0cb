import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { atProcessEnd } from '../helpers/process-end.ts';

/** The checkout. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The package as npm would publish it, unpacked. */
export interface Packed {
  readonly tarball: string;
  /** The folder `package` of the tarball. */
  readonly folder: string;
  readonly files: readonly string[];
  /** Bytes of the tarball. */
  readonly size: number;
  readonly unpackedSize: number;
  /** A project that has it installed. */
  consumer(project: Project): string;
}

/** A project that uses the package. */
export interface Project {
  /** By path. */
  readonly files: Readonly<Record<string, string>>;
  /** What it has installed beside the package: its name there, and where it stands here. */
  readonly packages: Readonly<Record<string, string>>;
}

interface PackReport {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

function newestChange(folder: string): number {
  return Math.max(
    ...readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs),
  );
}

/** What is tested here is `dist`; tests on an old one would tell nothing. */
function requireFreshBuild(): void {
  const built = statSync(join(ROOT, 'dist', 'index.d.cts'), { throwIfNoEntry: false });
  if (!built || built.mtimeMs < newestChange(join(ROOT, 'src'))) {
    throw new Error('dist is missing or older than src: npm run build');
  }
}

/** Creates what is published, as `npm run stage` does. @param repository its address. Default: our own */
export function stage(folder: string, ...repository: readonly string[]): void {
  execFileSync(process.execPath, ['--import', 'tsx', 'src/bundle/stage.ts', folder, ...repository], {
    cwd: ROOT,
  });
}

let packed: Packed | null = null;

/** The package, packed with npm and unpacked, once for all files of this process. */
export function pack(): Packed {
  packed ??= makePacked();
  return packed;
}

function makePacked(): Packed {
  requireFreshBuild();
  const place = mkdtempSync(join(tmpdir(), 'task-monitor-'));
  atProcessEnd(() => rmSync(place, { recursive: true, force: true }));
  const staged = join(place, 'staged');
  stage(staged);
  const output = execFileSync(
    'npm',
    ['pack', staged, '--json', '--ignore-scripts', '--loglevel=error', '--pack-destination', place],
    { cwd: ROOT, encoding: 'utf8', shell: process.platform === 'win32' },
  );
  const [report] = JSON.parse(output) as PackReport[];
  if (!report) throw new Error('npm pack made nothing');
  execFileSync('tar', ['-xzf', report.filename], { cwd: place });
  const folder = join(place, 'package');
  let projects = 0;
  return {
    tarball: join(place, report.filename),
    folder,
    files: report.files.map(({ path }) => path).toSorted(),
    size: report.size,
    unpackedSize: report.unpackedSize,
    consumer({ files, packages }) {
      projects += 1;
      const project = join(place, `consumer-${projects}`);
      const modules = join(project, 'node_modules');
      cpSync(folder, join(modules, 'express-task-monitor'), { recursive: true });
      for (const [name, target] of Object.entries(packages)) {
        mkdirSync(dirname(join(modules, name)), { recursive: true });
        symlinkSync(target, join(modules, name), 'junction');
      }
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(project, path)), { recursive: true });
        writeFileSync(join(project, path), text);
      }
      return project;
    },
  };
}

/** A package that the checkout has installed. */
export function installed(name: string): string {
  return join(ROOT, 'node_modules', name);
}
