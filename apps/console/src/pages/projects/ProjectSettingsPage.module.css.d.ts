declare const styles: {
  readonly periods: string
}
export default styles
