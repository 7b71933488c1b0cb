/** Creates the folder to publish: npm packs files unchanged, and relative links in the pages would not work there. */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The web address of the repository, such as `https://github.com/owner/name`; empty: it has none yet. */
const REPOSITORY: string = '';

const COPIED = ['dist', 'LICENSE'];
const PAGES = ['README.md', 'CHANGELOG.md'];

/**
 * Creates it. Run it in the root of the repository, after the build.
 *
 * @param folder is emptied first
 */
export function stagePackage(folder: string, repository = REPOSITORY): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const path of COPIED) cpSync(path, join(folder, path), { recursive: true });
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };
  // Users of the package do not need these.
  const published = { ...manifest, scripts: undefined, devDependencies: undefined, knip: undefined };
  const text = JSON.stringify({ ...published, ...addressesOf(repository) }, null, 2);
  writeFileSync(join(folder, 'package.json'), `${text}\n`);
  for (const page of PAGES) {
    const shown = withWholeLinks(readFileSync(page, 'utf8'), repository, `v${manifest.version}`);
    writeFileSync(join(folder, page), shown);
  }
}

function addressesOf(repository: string): object {
  if (repository === '') return {};
  return {
    homepage: `${repository}#readme`,
    bugs: { url: `${repository}/issues` },
    repository: { type: 'git', url: `git+${repository}.git` },
  };
}

/**
 * Makes links to other files of the repository absolute, to the files of this version. Without a repository, links
 * become plain text, and pictures are left out.
 */
function withWholeLinks(page: string, repository: string, tag: string): string {
  return page.replace(/(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)\n?/g, (whole, picture, text, path) => {
    const end = whole.endsWith('\n') ? '\n' : '';
    if (repository === '') return picture ? '' : `${text}${end}`;
    return `${picture}[${text}](${repository}/${picture ? 'raw' : 'blob'}/${tag}/${path})${end}`;
  });
}
