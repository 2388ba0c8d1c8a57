/** The bytes of a fingerprint, "AB:CD:…", in groups of `groupBytes`, so that people can compare it. */
export function fingerprintGroups(fingerprint: string, groupBytes: number): string[] {
  const bytes = fingerprint.split(':')
  return Array.from({ length: Math.ceil(bytes.length / groupBytes) }, (_, index) =>
    bytes.slice(index * groupBytes, (index + 1) * groupBytes).join(':'),
  )
}
