/**
 * `npm run stage [-- <folder> [<repository>]]`: creates the folder to publish. Default: `.cache/package`. npm packs
 * files unchanged, and relative links in the pages would not work there.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path/posix';

/** The web address of the repository, such as `https://github.com/owner/name`; empty: it has none yet. */
const REPOSITORY: string = '';

const COPIED = ['dist', 'LICENSE', 'docs/grafana/alerts.yml', 'docs/grafana/task-monitor.json'];
const PAGES = ['README.md', 'CHANGELOG.md', 'docs/llms.txt', ...pagesIn('docs'), ...pagesIn('docs/grafana')];

/**
 * Creates it. Run it in the root of the repository, after the build.
 *
 * @param folder is emptied first
 */
function stagePackage(folder: string, repository = REPOSITORY): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const path of COPIED) cpSync(path, join(folder, path), { recursive: true });
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };
  // Users of the package do not need these.
  const published = { ...manifest, scripts: undefined, devDependencies: undefined, knip: undefined };
  const text = JSON.stringify({ ...published, ...addressesOf(repository) }, null, 2);
  writeFileSync(join(folder, 'package.json'), `${text}\n`);
  for (const page of PAGES)
    writeFileSync(join(folder, page), withLinks(page, repository, `v${manifest.version}`));
}

function pagesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);
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
 * The text of a page, with links to other files of the repository made absolute, to the files of this version. Without
 * a repository, links to what the package has stay as they are, other links become plain text, and pictures are left
 * out.
 */
function withLinks(page: string, repository: string, tag: string): string {
  const text = readFileSync(page, 'utf8');
  return text.replace(/(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)\n?/g, (whole, picture, label, link) => {
    const end = whole.endsWith('\n') ? '\n' : '';
    const path = normalize(join(dirname(page), link));
    if (repository !== '') {
      return `${picture}[${label}](${repository}/${picture ? 'raw' : 'blob'}/${tag}/${path})${end}`;
    }
    if (picture) return '';
    return [...COPIED, ...PAGES].includes(path.replace(/#.*/, '')) ? whole : `${label}${end}`;
  });
}

const [folder = '.cache/package', repository] = process.argv.slice(2);
stagePackage(folder, repository);
