/** The files of the page in this package: read on the first request, then cached. */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/** The manifest that the build writes next to the files of the page. */
export interface PackageManifest {
  /** Entry script of the page. */
  readonly script: string;
  /** Static imports of that script, to be preloaded. */
  readonly imports: readonly string[];
  readonly style: string;
  readonly icon: string;
  /** Every file that may be requested. */
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

// Next to the built library, or in `dist` when the library runs from `src`.
const FOLDERS = ['./dashboard/', '../../dist/dashboard/'];

const pack = promisify(gzip);

export function createPackageFiles(): PackageFiles {
  let found: { readonly folder: URL; readonly manifest: PackageManifest } | null = null;
  const kept = new Map<string, Promise<PackageFile>>();

  function find(): { readonly folder: URL; readonly manifest: PackageManifest } {
    found ??= findFolder();
    return found;
  }

  async function load(name: string): Promise<PackageFile> {
    const plain = await readFile(new URL(name, find().folder));
    const type = TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
    return { type, plain, packed: await pack(plain, { level: 9 }) };
  }

  return {
    manifest: () => find().manifest,
    has(name) {
      try {
        return find().manifest.files.includes(name);
      } catch {
        // The request for the page reports the error; a request for a file is passed to the host.
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

function findFolder(): { readonly folder: URL; readonly manifest: PackageManifest } {
  for (const path of FOLDERS) {
    const folder = new URL(path, import.meta.url);
    try {
      const manifest = JSON.parse(readFileSync(new URL('manifest.json', folder), 'utf8')) as PackageManifest;
      return { folder, manifest };
    } catch (error) {
      if (isExhausted(error)) throw error;
      // Try the next folder.
    }
  }
  throw new Error(
    "The page's files are not next to the library. If you bundle your app, exclude express-task-monitor from the bundle (external), or set dashboard: false.",
  );
}

/** Whether the process is out of file descriptors or memory: temporary, and not a bug. */
export function isExhausted(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return code === 'EMFILE' || code === 'ENFILE' || code === 'ENOMEM' || code === 'EAGAIN';
}
