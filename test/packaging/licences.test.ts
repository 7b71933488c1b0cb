import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from './packed.ts';

/** What asks for no more than to be named, which the packages themselves do. */
const ALLOWED = ['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', '0BSD'];
/** What hosts are made to install. */
const MOST_INSTALLED = 25;

interface LockedPackage {
  readonly license?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly peer?: boolean;
  readonly hasInstallScript?: boolean;
}

const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
  packages: Record<string, LockedPackage>;
};
/** What npm installs beside this package for a host that has Express, and its client of Redis, already. */
const installed = Object.entries(lock.packages).filter(
  ([path, { dev, devOptional, peer }]) => path !== '' && !dev && !devOptional && !peer,
);

describe('what a host installs with the package', () => {
  it('is little', () => {
    expect(installed.length).toBeGreaterThan(3);
    expect(installed.map(([path]) => path).length).toBeLessThanOrEqual(MOST_INSTALLED);
  });

  it('has licences that ask for nothing', () => {
    expect(installed.filter(([, { license }]) => !ALLOWED.includes(license ?? ''))).toEqual([]);
  });

  it('runs nothing when it is installed', () => {
    expect(installed.filter(([, { hasInstallScript }]) => hasInstallScript)).toEqual([]);
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    expect(Object.keys(scripts).filter((name) => /^(pre|post)?install$|^prepare$/.test(name))).toEqual([]);
  });
});
