import manifest from '../../../package.json' with { type: 'json' }

/** Version of the whole project. Only the package.json of the root states it. */
export const VERSION = manifest.version
