/** Device model in a simulated fleet. */
export type Hardware = {
  /** First part of host names. */
  role: string
  model: string
  arch: string
  memoryBytes: number
  osName: string
  osVersion: string
  kernel: string
  disks: { name: string; filesystem: string; mountPoint: string; totalSpace: number; usedShare: number }[]
  /** First three bytes of MAC addresses. */
  macPrefix: string
  networks: string[]
  /** Firmware versions, oldest first; the last one is the target of the roll-out. */
  firmware: string[]
}

const MIB = 1024 ** 2
const GIB = 1024 ** 3

/** Device models in a simulated fleet, each with its relative frequency. */
export const HARDWARE: readonly (readonly [Hardware, number])[] = [
  [
    {
      role: 'gateway',
      model: 'Raspberry Pi Compute Module 4',
      arch: 'aarch64',
      memoryBytes: 3_981_012_992,
      osName: 'Debian GNU/Linux',
      osVersion: '12',
      kernel: '6.6.74+rpt-rpi-v8',
      disks: [
        { name: '/dev/mmcblk0p5', filesystem: 'ext4', mountPoint: '/', totalSpace: 7 * GIB, usedShare: 0.46 },
        {
          name: '/dev/mmcblk0p7',
          filesystem: 'ext4',
          mountPoint: '/data',
          totalSpace: 21 * GIB,
          usedShare: 0.31,
        },
      ],
      macPrefix: 'dc:a6:32',
      networks: ['eth0', 'wwan0'],
      firmware: ['2.8.1', '2.9.0', '2.9.3', '3.0.0'],
    },
    5,
  ],
  [
    {
      role: 'charger',
      model: 'i.MX 8M Mini',
      arch: 'aarch64',
      memoryBytes: 2_049_331_200,
      osName: 'Poky (Yocto Project Reference Distro)',
      osVersion: '5.0.6',
      kernel: '6.6.52-lts-next',
      disks: [
        { name: '/dev/mmcblk2p2', filesystem: 'ext4', mountPoint: '/', totalSpace: 3 * GIB, usedShare: 0.62 },
        {
          name: '/dev/mmcblk2p4',
          filesystem: 'ext4',
          mountPoint: '/data',
          totalSpace: 9 * GIB,
          usedShare: 0.18,
        },
      ],
      macPrefix: '00:04:9f',
      networks: ['eth0'],
      firmware: ['1.14.2', '1.15.0', '1.15.1', '1.16.0'],
    },
    3,
  ],
  [
    {
      role: 'display',
      model: 'Intel N100',
      arch: 'x86_64',
      memoryBytes: 8_184_659_968,
      osName: 'Ubuntu',
      osVersion: '24.04',
      kernel: '6.8.0-57-generic',
      disks: [
        {
          name: '/dev/nvme0n1p2',
          filesystem: 'ext4',
          mountPoint: '/',
          totalSpace: 117 * GIB,
          usedShare: 0.22,
        },
        {
          name: '/dev/nvme0n1p1',
          filesystem: 'vfat',
          mountPoint: '/boot/efi',
          totalSpace: 511 * MIB,
          usedShare: 0.02,
        },
      ],
      macPrefix: '00:e0:67',
      networks: ['enp1s0', 'wlp2s0'],
      firmware: ['2025.9', '2025.12', '2026.2'],
    },
    2,
  ],
  [
    {
      role: 'sensor',
      model: 'TI AM335x BeagleBone Black',
      arch: 'arm',
      memoryBytes: 511_270_912,
      osName: 'Poky (Yocto Project Reference Distro)',
      osVersion: '4.0.21',
      kernel: '5.15.162-ti',
      disks: [
        {
          name: '/dev/mmcblk1p2',
          filesystem: 'ext4',
          mountPoint: '/',
          totalSpace: 3.5 * GIB,
          usedShare: 0.71,
        },
      ],
      macPrefix: '64:70:60',
      networks: ['eth0'],
      firmware: ['0.22.4', '0.23.0', '0.23.1'],
    },
    4,
  ],
]

/** Sites of a simulated fleet. */
export const SITES = [
  'berlin',
  'hamburg',
  'munich',
  'cologne',
  'leipzig',
  'vienna',
  'graz',
  'zurich',
  'basel',
  'lyon',
  'nantes',
  'ghent',
  'utrecht',
  'aarhus',
  'malmo',
  'gdansk',
  'brno',
  'porto',
  'bilbao',
  'turin',
] as const
