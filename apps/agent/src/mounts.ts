/** One line of `/proc/mounts`. */
export type Mount = { device: string; mountPoint: string; filesystem: string }

/** File systems that live on a disk of this machine; network ones can hang whoever asks for their size. */
const DISK_FILESYSTEMS = new Set([
  'bcachefs',
  'btrfs',
  'exfat',
  'ext2',
  'ext3',
  'ext4',
  'f2fs',
  'hfsplus',
  'jffs2',
  'jfs',
  'msdos',
  'nilfs2',
  'ntfs',
  'ntfs3',
  'reiserfs',
  'ubifs',
  'vfat',
  'xfs',
  'yaffs2',
  'zfs',
])

/** Real file systems of a `/proc/mounts` text: each device once, at its shortest mount point; the root whatever it is. */
export function diskMounts(text: string): Mount[] {
  const byDevice = new Map<string, Mount>()
  for (const line of text.split('\n')) {
    const [device, mountPoint, filesystem] = line.split(' ').map(unescapeOctal)
    if (!device || !mountPoint || !filesystem) continue
    const isContainerRoot = mountPoint === '/' && filesystem === 'overlay'
    if (!DISK_FILESYSTEMS.has(filesystem) && !isContainerRoot) continue
    const known = byDevice.get(device)
    // Bind mounts repeat a device at further places.
    if (!known || mountPoint.length < known.mountPoint.length)
      byDevice.set(device, { device, mountPoint, filesystem })
  }
  return [...byDevice.values()]
}

/** Blanks and the like are written as `\040` (fstab(5)). */
function unescapeOctal(text: string): string {
  if (!text.includes('\\')) return text
  return text.replace(/\\([0-7]{3})/g, (_match, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  )
}
