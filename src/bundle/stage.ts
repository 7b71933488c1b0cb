/** `npm run stage [-- <folder> [<repository>]]`: creates the content of the published package. Default: in `.cache/package`. */
import { stagePackage } from './stage-package.ts';

const [folder = '.cache/package', repository] = process.argv.slice(2);
stagePackage(folder, repository);
