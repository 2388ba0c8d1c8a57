/** Architectures with release archives and packages, in Node's words. */
export const ARCHES = ['x64', 'arm64'] as const

/** Architecture of a release, in Node's words. */
export type Arch = (typeof ARCHES)[number]

/** Programs of a release. Each has an archive and a Debian package for each architecture. */
export const PRODUCTS = ['muster-hub', 'muster-agent', 'muster-cli'] as const

/** Program of a release. */
export type Product = (typeof PRODUCTS)[number]
