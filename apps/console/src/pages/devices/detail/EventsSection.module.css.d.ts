declare const styles: {
  readonly attributes: string
  readonly category: string
  readonly event: string
  readonly foot: string
  readonly section: string
  readonly time: string
}
export default styles
