import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.StringJoiner;
import org.apache.tomcat.util.http.MimeHeaders;
import org.apache.tomcat.util.http.Rfc6265CookieProcessor;
import org.apache.tomcat.util.http.ServerCookies;

/** For each line of standard input, lines of Cookie in base64 with blanks between: the values of JSESSIONID, likewise. */
public class Cookies {
  public static void main(String[] arguments) throws Exception {
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      MimeHeaders fields = new MimeHeaders();
      for (String field : line.split(" ")) {
        byte[] bytes = Base64.getDecoder().decode(field);
        fields.addValue("Cookie").setBytes(bytes, 0, bytes.length);
      }
      ServerCookies cookies = new ServerCookies(4);
      new Rfc6265CookieProcessor().parseCookieHeader(fields, cookies);
      StringJoiner values = new StringJoiner(" ");
      for (int i = 0; i < cookies.getCookieCount(); i++) {
        if (!cookies.getCookie(i).getName().equals("JSESSIONID")) continue;
        cookies.getCookie(i).getValue().getByteChunk().setCharset(StandardCharsets.ISO_8859_1);
        byte[] value = cookies.getCookie(i).getValue().toString().getBytes(StandardCharsets.ISO_8859_1);
        if (value.length > 0) values.add(Base64.getEncoder().encodeToString(value));
      }
      System.out.println(values);
    }
  }
}
