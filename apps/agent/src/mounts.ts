/** A mounted file system: one line of `/proc/mounts`. `device` is a block device, for example `/dev/sda1`. */
export type Mount = { device: string; mountPoint: string; filesystem: string }

/**
 * Types of file systems on local disks. Other types are skipped, because reading the size of a network file system can block
 * forever.
 */
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

/**
 * Parses the text of `/proc/mounts` and returns the local file systems, and the overlay root of a container. A block device
 * with several mount points is listed once, with its shortest mount point.
 */
export function diskMounts(text: string): Mount[] {
  const byDevice = new Map<string, Mount>()
  for (const line of text.split('\n')) {
    const [device, mountPoint, filesystem] = line.split(' ').map(unescapeOctal)
    if (!device || !mountPoint || !filesystem) continue
    const isContainerRoot = mountPoint === '/' && filesystem === 'overlay'
    if (!DISK_FILESYSTEMS.has(filesystem) && !isContainerRoot) continue
    const known = byDevice.get(device)
    // Bind mounts list the same block device several times, so only the shortest mount point is kept.
    if (!known || mountPoint.length < known.mountPoint.length)
      byDevice.set(device, { device, mountPoint, filesystem })
  }
  return [...byDevice.values()]
}

/** Decodes the octal escapes of `/proc/mounts`, for example `\040` for a space (fstab(5)). */
function unescapeOctal(text: string): string {
  if (!text.includes('\\')) return text
  return text.replace(/\\([0-7]{3})/g, (_match, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  )
}
