declare const styles: {
  readonly menu: string
}
export default styles
