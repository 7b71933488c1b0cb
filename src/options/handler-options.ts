import type { MonitorHandlerOptions } from '../options.ts';
import { isRecord } from '../values.ts';
import { type ResolvedOptions, resolveOptions } from './resolve-options.ts';
import { wrong } from './wrong.ts';

/** {@link MonitorHandlerOptions}, checked, with every default filled in. */
export interface ResolvedHandlerOptions {
  readonly options: ResolvedOptions;
  /** Without a trailing slash; empty if nothing is to be removed from URLs. */
  readonly basePath: string;
}

/**
 * Checks options and fills in their defaults.
 *
 * @throws TypeError that names the option, the type of its value, and what to write; never a secret
 */
export function resolveHandlerOptions(given: unknown = {}): ResolvedHandlerOptions {
  if (!isRecord(given)) return { options: resolveOptions(given), basePath: '' };
  const { basePath: path, ...others }: { readonly [Key in keyof MonitorHandlerOptions]?: unknown } = given;
  const basePath = readBasePath(path);
  const options = resolveOptions(others);
  return { options: { ...options, publicUrl: options.publicUrl ?? (basePath || null) }, basePath };
}

function readBasePath(value: unknown): string {
  if (value === undefined) return '';
  if (typeof value !== 'string' || !/^\/(?!\/)[^?#\s]*$/.test(value)) {
    throw wrong('basePath', "a path such as '/monitor'", value);
  }
  return value.replace(/\/+$/, '');
}
