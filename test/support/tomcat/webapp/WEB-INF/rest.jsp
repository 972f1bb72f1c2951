<%@ page session="false" trimDirectiveWhitespaces="true" contentType="application/json; charset=UTF-8"
    import="java.io.IOException, java.io.InputStream, java.io.OutputStream, java.io.UncheckedIOException,
    java.nio.charset.StandardCharsets, java.util.Arrays, java.util.Map, jakarta.websocket.*, jakarta.websocket.server.*" %><%--
  The REST interface of a control system's application server, as far as a proxy in front of it can tell:
  calls by name, binary download and upload, archive, objects, login and logout, and the server's own admin paths.
  A JSP, so that a plain Tomcat runs it from source; nothing may stand between its tags, since the answers are octets.
  What a call does follows from its name alone:
    method TestInOut, Upload      reads the body and answers its length
    method Sleep<n>               the same after n milliseconds
    method Download               answers as many octets as the parameter "param" says
    method Fail, object H.Broken  500
    events, processes and objects begin with a capital letter and a dot; any other name of anything: 404
  A WebSocket at /api/cometd gets each Bayeux message back, as an accepted one.
--%><%!
  private static final Map<String, String> API_KEYS = Map.of("key-of-dana", "dana", "key-of-the-robot", "robot");

  private static void answer(HttpServletResponse response, int status, String json) throws java.io.IOException {
    byte[] body = json.getBytes(StandardCharsets.UTF_8);
    response.setStatus(status);
    response.setContentType("application/json;charset=UTF-8");
    response.setContentLength(body.length);
    response.getOutputStream().write(body);
  }

  private static boolean isKnown(String name) {
    return name.length() > 2 && Character.isUpperCase(name.charAt(0)) && name.charAt(1) == '.';
  }

  private static long readBody(HttpServletRequest request) throws java.io.IOException {
    byte[] chunk = new byte[16384];
    long total = 0;
    InputStream in = request.getInputStream();
    for (int n = in.read(chunk); n >= 0; n = in.read(chunk)) total += n;
    return total;
  }

  private static void rpc(HttpServletRequest request, HttpServletResponse response, String[] names) throws Exception {
    String method = names[names.length - 1];
    long bytes = readBody(request);
    if (!isKnown(names[0])) answer(response, 404, "{\"error\":\"unknown event or process\"}");
    else if (method.equals("Fail")) answer(response, 500, "{\"error\":\"the script failed\"}");
    else if (method.equals("TestInOut")) answer(response, 200, "{\"received\":" + bytes + "}");
    else if (method.matches("Sleep[0-9]{1,6}")) {
      Thread.sleep(Long.parseLong(method.substring(5)));
      answer(response, 200, "{\"received\":" + bytes + "}");
    } else answer(response, 404, "{\"error\":\"unknown method\"}");
  }

  private static void sba(HttpServletRequest request, HttpServletResponse response, String[] names) throws Exception {
    boolean isUpload = request.getMethod().equals("POST");
    if (isUpload) {
      long bytes = readBody(request);
      if (names[1].equals("Upload")) answer(response, 200, "{\"received\":" + bytes + "}");
      else answer(response, names[1].equals("Fail") ? 500 : 404, "{\"error\":\"no upload\"}");
    } else if (names[1].equals("Download") && isKnown(names[0])) {
      int left = Integer.parseInt(request.getParameter("param"));
      response.setContentType("application/octet-stream");
      OutputStream out = response.getOutputStream();
      byte[] chunk = new byte[8192];
      Arrays.fill(chunk, (byte) 0xd2);
      // No length is set: beyond the container's buffer the answer is chunked.
      for (; left > 0; left -= chunk.length) out.write(chunk, 0, Math.min(left, chunk.length));
    } else answer(response, names[1].equals("Fail") ? 500 : 404, "{\"error\":\"no download\"}");
  }

  private static void object(HttpServletRequest request, HttpServletResponse response, String name) throws Exception {
    readBody(request);
    if (name.equals("H.Broken")) answer(response, 500, "{\"error\":\"the archive is not there\"}");
    else if (isKnown(name)) answer(response, 200, "{\"rows\":[[\"2026-01-01T00:00:00.000Z\",1.5]]}");
    else answer(response, 404, "{\"error\":\"unknown object\"}");
  }

  public static class Echo extends Endpoint {
    @Override
    public void onOpen(Session session, EndpointConfig config) {
      session.addMessageHandler(String.class, text -> {
        try {
          // Not the asynchronous way: a client that has read an answer may ask again before Tomcat has noted that the answer is sent, and
          // then Tomcat drops the next one.
          session.getBasicRemote().sendText(
              text.replace("}]", ",\"successful\":true,\"clientId\":\"" + session.getId() + "\"}]"));
        } catch (IOException cause) {
          throw new UncheckedIOException(cause);
        }
      });
    }
  }

  @Override
  public void jspInit() {
    ServerContainer container =
        (ServerContainer) getServletContext().getAttribute("jakarta.websocket.server.ServerContainer");
    try {
      container.addEndpoint(ServerEndpointConfig.Builder.create(Echo.class, "/api/cometd").build());
    } catch (DeploymentException cause) {
      throw new IllegalStateException(cause);
    }
  }
%><%
  String key = request.getHeader("X-API-Key");
  if (key != null) {
    if (!API_KEYS.containsKey(key)) {
      answer(response, 404, "{\"error\":\"not found\"}");
      return;
    }
  } else if (!request.authenticate(response)) {
    // The container's own BASIC authentication has answered 401.
    return;
  }
  String path = request.getPathInfo();
  String[] parts = path == null ? new String[0] : path.substring(1).split("/");
  int from = 2;
  boolean isD2 = parts.length >= 3 && parts[0].equals("d2");
  String kind = isD2 ? parts[1] : "";
  if (kind.equals("rpc") && request.getMethod().equals("POST")) {
    if (parts[from].equals("java") || parts[from].equals("japi")) from++;
    boolean isInterface = parts.length > from && parts[from].equals("interface");
    if (isInterface) from++;
    String[] names = Arrays.copyOfRange(parts, Math.min(from, parts.length), parts.length);
    if (names.length == (isInterface ? 3 : 2)) rpc(request, response, names);
    else answer(response, 404, "{\"error\":\"not found\"}");
  } else if (kind.equals("sba") && parts.length == 4) sba(request, response, Arrays.copyOfRange(parts, 2, 4));
  else if ((kind.equals("archive") || kind.equals("object")) && parts.length == 3) object(request, response, parts[2]);
  else if (kind.equals("auth") && parts.length == 3 && (parts[2].equals("login") || parts[2].equals("logout")))
    answer(response, 200, "{\"result\":\"ok\"}");
  else if (parts.length >= 1 && parts[0].equals("admin")) answer(response, 200, "{\"server\":\"tomcat\"}");
  else answer(response, 404, "{\"error\":\"not found\"}");
%>