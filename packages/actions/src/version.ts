import manifest from '../../../package.json' with { type: 'json' }

/** Version of the whole project: the package.json of the root is the one place that states it. */
export const VERSION = manifest.version
