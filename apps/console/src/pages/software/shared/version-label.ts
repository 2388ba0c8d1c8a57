type Labelled = {
  versionId: string
  name?: string | undefined
  metadata: Record<string, unknown>
  tags: readonly { tag: string; locked: boolean }[]
}

/** Name of a version for people: its own name, else `imageVersion`, else its locked tag, else its id. */
export function versionLabel(version: Labelled): string {
  return (
    version.name ??
    imageVersionOf(version.metadata) ??
    version.tags.find(({ locked }) => locked)?.tag ??
    version.versionId
  )
}

/** The text by which devices report a version, if its metadata names one. */
export function imageVersionOf({ imageVersion }: Record<string, unknown>): string | undefined {
  return (typeof imageVersion === 'string' && imageVersion !== '') || typeof imageVersion === 'number'
    ? String(imageVersion)
    : undefined
}
