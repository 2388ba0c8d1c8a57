declare const styles: {
  readonly caption: string
  readonly counts: string
  readonly panel: string
  readonly ticks: string
  readonly top: string
}
export default styles
