import { hostname } from 'node:os'
import { describe, expect, it } from 'vitest'
import { diskMounts } from './mounts.ts'
import { archOf, parseOsRelease, readSystemInfo } from './system-info.ts'

describe('readSystemInfo', () => {
  it('describes this machine', async () => {
    const info = await readSystemInfo([{ protocol: 'http', name: 'web', port: 8080 }])
    expect(info.hostname).toBe(hostname())
    expect(info.kernel).toMatch(/^\w+ \d/)
    expect(info.memory.total).toBeGreaterThan(64 * 1024 * 1024)
    for (const network of info.networks) {
      expect(network.macAddress).toMatch(/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/)
      for (const address of network.ipAddresses) expect(address).toMatch(/^[0-9a-f.:]+\/\d{1,3}$/)
    }
    for (const disk of info.disks) {
      expect(disk.totalSpace).toBeGreaterThan(0)
      expect(disk.availableSpace).toBeLessThanOrEqual(disk.totalSpace)
    }
    expect(info.exports).toEqual([{ protocol: 'http', name: 'web', port: 8080 }])
    expect(info.agent).toEqual({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      config: { terminal: { enabled: false }, commands: { enabled: false } },
    })
  })

  it('publishes another host name and omits empty exports', async () => {
    const info = await readSystemInfo([], 'shown')
    expect(info.hostname).toBe('shown')
    expect(info).not.toHaveProperty('exports')
  })
})

describe('archOf', () => {
  it.each([
    ['x86_64', 'x86_64'],
    ['AMD64', 'x86_64'],
    ['arm64', 'aarch64'],
    ['aarch64', 'aarch64'],
    ['armv7l', 'arm'],
    ['i686', 'x86'],
    ['riscv64', 'riscv64'],
  ])('spells %s as %s', (machine, arch) => {
    expect(archOf(machine)).toBe(arch)
  })
})

describe('parseOsRelease', () => {
  it('reads quoted and bare values', () => {
    const text = `# comment\nNAME="Debian \\"GNU\\"/Linux"\nVERSION_ID='12'\nID=debian \nnot a line\n`
    expect(parseOsRelease(text)).toEqual({ NAME: 'Debian "GNU"/Linux', VERSION_ID: '12', ID: 'debian' })
  })
})

describe('diskMounts', () => {
  it('keeps local file systems, each device once at its shortest mount point', () => {
    const text = [
      'proc /proc proc rw 0 0',
      '/dev/vda1 /var/lib/docker ext4 rw 0 0',
      '/dev/vda1 / ext4 rw 0 0',
      'overlay / overlay rw 0 0',
      'overlay /var/lib/x overlay rw 0 0',
      'tmpfs /tmp tmpfs rw 0 0',
      'server:/share /mnt/nfs nfs4 rw 0 0',
      '/dev/sdb1 /mnt/my\\040disk vfat rw 0 0',
      '',
    ].join('\n')
    expect(diskMounts(text)).toEqual([
      { device: '/dev/vda1', mountPoint: '/', filesystem: 'ext4' },
      { device: 'overlay', mountPoint: '/', filesystem: 'overlay' },
      { device: '/dev/sdb1', mountPoint: '/mnt/my disk', filesystem: 'vfat' },
    ])
  })
})
