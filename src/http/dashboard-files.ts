/** The page's files, as they lie in the package: read when they are first asked for, then kept. */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/** What the build writes beside the page's files. */
export interface PackageManifest {
  /** The script that starts the page. */
  readonly script: string;
  /** What that script imports at once. */
  readonly imports: readonly string[];
  readonly style: string;
  readonly icon: string;
  /** Every file that may be asked for. */
  readonly files: readonly string[];
}

/** One file. */
export interface PackageFile {
  readonly type: string;
  readonly plain: Buffer;
  readonly packed: Buffer;
}

/** The files of the page. */
export interface PackageFiles {
  /** @throws Error when the package was not built, or was bundled without them */
  manifest(): PackageManifest;
  has(name: string): boolean;
  read(name: string): Promise<PackageFile>;
}

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
};

// Beside the built library; from `src` they are where the build has put them.
const PLACES = ['./dashboard/', '../../dist/dashboard/'];

const pack = promisify(gzip);

export function createPackageFiles(): PackageFiles {
  let found: { readonly place: URL; readonly manifest: PackageManifest } | null = null;
  const kept = new Map<string, Promise<PackageFile>>();

  function find(): { readonly place: URL; readonly manifest: PackageManifest } {
    found ??= findPlace();
    return found;
  }

  async function load(name: string): Promise<PackageFile> {
    const plain = await readFile(new URL(name, find().place));
    const type = TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
    return { type, plain, packed: await pack(plain, { level: 9 }) };
  }

  return {
    manifest: () => find().manifest,
    has(name) {
      try {
        return find().manifest.files.includes(name);
      } catch {
        // The page itself says what is wrong; a file that cannot be there is nobody's.
        return false;
      }
    },
    read(name) {
      const before = kept.get(name);
      if (before !== undefined) return before;
      const file = load(name);
      kept.set(name, file);
      file.catch(() => kept.delete(name));
      return file;
    },
  };
}

function findPlace(): { readonly place: URL; readonly manifest: PackageManifest } {
  for (const path of PLACES) {
    const place = new URL(path, import.meta.url);
    try {
      const manifest = JSON.parse(readFileSync(new URL('manifest.json', place), 'utf8')) as PackageManifest;
      return { place, manifest };
    } catch (error) {
      if (isExhausted(error)) throw error;
      // The next place.
    }
  }
  throw new Error(
    "The page's files are not beside the library. Where an app is bundled, leave express-task-monitor out of the bundle (external), or set dashboard: false.",
  );
}

/** Whether the process has no descriptor or memory left for now: a state that passes, and no bug. */
export function isExhausted(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return code === 'EMFILE' || code === 'ENFILE' || code === 'ENOMEM' || code === 'EAGAIN';
}
