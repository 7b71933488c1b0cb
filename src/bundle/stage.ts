/** `npm run stage`: creates the content of the published package in `.cache/package`. */
import { stagePackage } from './stage-package.ts';

stagePackage('.cache/package');
