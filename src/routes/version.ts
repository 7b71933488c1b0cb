/** Version of this package; a test holds it against `package.json`, which bundlers need not find at run time. */
export const VERSION = '0.1.0';
