/** A small file system in memory, which a case fills and frees. */
import { spawnSync } from 'node:child_process';
import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { atProcessEnd } from '../../helpers/process-end.ts';

/** Why no file system can be mounted here; `null` when one can. */
export const mountMissing: string | null = canMount()
  ? null
  : 'allow mount: run the tests as root on Linux, in a container with --cap-add=SYS_ADMIN';

/** Everybody may write to it. */
export interface SmallDisk {
  readonly folder: string;
  /** Takes all space that is left. */
  fill(): void;
  /** Gives it back. */
  free(): void;
}

/** Mounts one until the test is over. */
export function mountSmallDisk(mebibytes: number): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'monitor-disk-'));
  if (!mount(folder, mebibytes)) throw new Error('mount has failed');
  chmodSync(folder, 0o777);
  const forget = atProcessEnd(() => unmount(folder));
  onTestFinished(() => {
    forget();
    unmount(folder);
  });
  const filler = join(folder, 'filler');
  return {
    folder,
    fill() {
      const file = openSync(filler, 'a');
      for (const bytes of [1_048_576, 65_536, 4_096]) writeUntilFull(file, Buffer.alloc(bytes));
      closeSync(file);
    },
    free: () => rmSync(filler, { force: true }),
  };
}

function writeUntilFull(file: number, bytes: Buffer): void {
  try {
    while (writeSync(file, bytes) === bytes.length);
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== 'ENOSPC') throw error;
  }
}

function canMount(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const folder = mkdtempSync(join(tmpdir(), 'monitor-disk-'));
  const isMounted = mount(folder, 1);
  if (isMounted) unmount(folder);
  else rmSync(folder, { recursive: true, force: true });
  return isMounted;
}

function mount(folder: string, mebibytes: number): boolean {
  return spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', folder]).status === 0;
}

/** What still has files open there keeps the rest of it until it ends. */
function unmount(folder: string): void {
  spawnSync('umount', ['--lazy', folder]);
  rmSync(folder, { recursive: true, force: true });
}
