/**
 * The files of the page. They are texts in a module: bundlers and tools that trace files find modules by themselves, but
 * not files that are read at run time.
 */
import { promisify } from 'node:util';
import { brotliDecompress, gzip } from 'node:zlib';

type PackagePage = typeof import('#page');

/** One file. */
export interface PackageFile {
  readonly type: string;
  readonly plain: Buffer;
  /** Compressed, by coding. */
  readonly packed: Readonly<Record<Coding, Buffer>>;
}

/** The best first. */
export const CODINGS = ['br', 'gzip'] as const;
type Coding = (typeof CODINGS)[number];

/** The files of the page. */
export type PackageFiles = ReturnType<typeof createPackageFiles>;

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
};

/** How the build names files. */
const NAME = /^(?:[a-z]+(?:-[a-z]+)*-[A-Z0-9]{8}\.(?:js|css|svg)|licenses\.txt)$/;

const pack = promisify(gzip);
const unpack = promisify(brotliDecompress);

let shared: PackageFiles | null = null;

/** The files, which all monitors of the process share. */
export function packageFiles(): PackageFiles {
  shared ??= createPackageFiles();
  return shared;
}

function createPackageFiles() {
  let page: PackagePage | null = null;
  const kept = new Map<string, Promise<PackageFile>>();

  async function load(): Promise<PackagePage> {
    page ??= await import('#page');
    return page;
  }
  // Before the first request: on Node 20, an import that fails for lack of file descriptors can never succeed later.
  load().catch(() => {
    // The request for the page reports the error.
  });

  async function make(name: string, text: string): Promise<PackageFile> {
    const br = Buffer.from(text, 'base64');
    const plain = await unpack(br);
    const type = TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
    return { type, plain, packed: { br, gzip: await pack(plain, { level: 9 }) } };
  }

  return {
    manifest: async () => (await load()).manifest,
    /** Whether it is a file of the page; before the module is loaded, whether it could be one. */
    has: (name: string): boolean => (page === null ? NAME.test(name) : Object.hasOwn(page.files, name)),
    /** @returns `null` if there is no such file */
    async read(name: string): Promise<PackageFile | null> {
      const { files } = await load();
      const text = Object.hasOwn(files, name) ? files[name] : undefined;
      if (text === undefined) return null;
      const file = kept.get(name) ?? make(name, text);
      kept.set(name, file);
      file.catch(() => kept.delete(name));
      return file;
    },
  };
}
