declare const styles: {
  readonly dot: string
  readonly hint: string
  readonly panel: string
  readonly waiting: string
}
export default styles
