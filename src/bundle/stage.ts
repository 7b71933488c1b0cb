/** `npm run stage [-- <folder> [<repository>]]`: creates the folder to publish. Default: `.cache/package`. */
import { stagePackage } from './stage-package.ts';

const [folder = '.cache/package', repository] = process.argv.slice(2);
stagePackage(folder, repository);
