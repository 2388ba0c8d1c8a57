SUMMARY = "Agent that connects this device to a Muster hub"
DESCRIPTION = "Keeps a connection to the hub, reports system information, sends events and forwards ports. Brings its own Node."
SECTION = "net"
LICENSE = "Apache-2.0 & MIT"
LIC_FILES_CHKSUM = "file://LICENSE;md5=3b83ef96387f14655fc854ddc3c6bd57"

# Set these three in local.conf or in the distribution: the version of a release, the address of its folder (https:// or file://), and the
# digest of the archive in its SHA256SUMS.
MUSTER_VERSION ?= ""
MUSTER_RELEASE ?= ""
MUSTER_AGENT_SHA256 ?= ""

PV = "${@d.getVar('MUSTER_VERSION') or '0'}"
MUSTER_ARCH = "unknown"
MUSTER_ARCH:x86-64 = "x64"
MUSTER_ARCH:aarch64 = "arm64"
SRC_URI = "${MUSTER_RELEASE}/muster-agent-${PV}-linux-${MUSTER_ARCH}.tar.gz"
SRC_URI[sha256sum] = "${MUSTER_AGENT_SHA256}"
# Releases of Yocto before 5.1 have no UNPACKDIR.
S = "${@d.getVar('UNPACKDIR') or d.getVar('WORKDIR')}/muster-agent-${PV}-linux-${MUSTER_ARCH}"

inherit features_check systemd

REQUIRED_DISTRO_FEATURES = "systemd"
# The Node of a release needs glibc.
COMPATIBLE_HOST = "(x86_64|aarch64).*-linux$"
COMPATIBLE_HOST:libc-musl = "null"

SYSTEMD_SERVICE:${PN} = "muster-agent.service"

# nooelint: oelint.task.noanonpython - says which setting is missing instead of failing in do_fetch
python () {
    for name in ('MUSTER_VERSION', 'MUSTER_RELEASE', 'MUSTER_AGENT_SHA256'):
        if not d.getVar(name):
            raise bb.parse.SkipRecipe('%s is not set' % name)
}

do_configure[noexec] = "1"
do_compile[noexec] = "1"

do_install() {
    install -d ${D}${bindir} ${D}${nonarch_libdir}/muster-agent ${D}${systemd_system_unitdir}
    cp -R --no-dereference --preserve=mode,links ${S}/bin ${S}/lib ${S}/node ${S}/LICENSE ${S}/THIRD-PARTY-LICENSES.txt \
        ${S}/sbom.cdx.json ${D}${nonarch_libdir}/muster-agent/
    install -m 0755 ${S}/examples/fingerprint ${D}${nonarch_libdir}/muster-agent/fingerprint
    ln -s ../lib/muster-agent/bin/muster-agent ${D}${bindir}/muster-agent
    install -m 0644 ${S}/examples/muster-agent.service ${D}${systemd_system_unitdir}/muster-agent.service
    # The agent makes the key and the certificate of the device in a folder here.
    install -d -m 0755 ${D}${sysconfdir}/nexigon
    install -d -m 0700 ${D}${sysconfdir}/nexigon/agent
}

FILES:${PN} += "${nonarch_libdir}/muster-agent ${systemd_system_unitdir} ${sysconfdir}/nexigon"

# Node is a finished program, which is neither stripped nor split.
INHIBIT_PACKAGE_STRIP = "1"
INHIBIT_PACKAGE_DEBUG_SPLIT = "1"
INHIBIT_SYSROOT_STRIP = "1"
