-- Requests of several users for several calls, and one line of exact figures at the end. Arguments after `--`: key=value.
--   kind=rpc         POST of a small RPC; or answer1m (GET), upload (POST of 1 MB)
--   kind=plant       two small RPCs and the read of one of 3,000 objects in turn, with the cookie of the user's login
--   users, names     how many of each; every user makes `each` (default 10) different calls
--   thinkMs          mean pause of a connection before each request, evenly spread from half of it to one and a half
--   close=1          a connection for each request
local PREFIX = "/smartWeb/api/rest/v0/d2/"
local BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
-- Differs at the end of each request: LuaJIT hashes a string by a few of its characters, the last ones among them, and 100,000
-- strings with equal ends take minutes.
local SMALL_BODY = '{"parameters":[{"type":"INT","value":42},{"type":"TEXT","value":"abc"}],"id":%06d}'

local function base64(text)
  local out = {}
  for i = 1, #text, 3 do
    local a, b, c = text:byte(i, i + 2)
    local bits = a * 65536 + (b or 0) * 256 + (c or 0)
    for shift = 3, 0, -1 do
      local at = math.floor(bits / 64 ^ shift) % 64 + 1
      local isPadding = (shift == 1 and not b) or (shift == 0 and not c)
      out[#out + 1] = isPadding and "=" or BASE64:sub(at, at)
    end
  end
  return table.concat(out)
end

local kinds = {
  rpc = function(name, id) return "POST", "rpc/E.Bench/Call" .. name, SMALL_BODY:format(id) end,
  answer1m = function(name) return "GET", "sba/E.Bench/Answer1M" .. name, "" end,
  upload = function(name, _, large) return "POST", "sba/E.Bench/Upload" .. name, large end,
}

function kinds.plant(name, id)
  if id % 3 == 2 then return "GET", "object/H.Object" .. math.floor(id / 3) % 3000, "" end
  return kinds.rpc(name, id)
end

local requests = {}
local at = 0

function init(args)
  local settings = {}
  for _, text in ipairs(args) do
    local key, value = text:match("^(%w+)=(%w+)$")
    if key then settings[key] = value end
  end
  local users, names = tonumber(settings.users or 10), tonumber(settings.names or 10)
  local each = tonumber(settings.each or 10)
  local connection = settings.close and "Connection: close\r\n" or ""
  local large = settings.kind == "upload" and string.rep("0123456789abcdef", 65536) or nil
  for user = 0, users - 1 do
    local authorization = "Authorization: Basic " .. base64("user" .. user .. ":passw0rd") .. "\r\n"
    local cookie = settings.kind == "plant" and ("Cookie: JSESSIONID=%032X\r\n"):format(user) or ""
    for i = 0, each - 1 do
      local method, path, body = kinds[settings.kind or "rpc"]((user * each + i) % names, #requests, large)
      requests[#requests + 1] = method .. " " .. PREFIX .. path .. " HTTP/1.1\r\nHost: plant.example\r\n"
        .. "User-Agent: bench\r\nAccept: application/json\r\nContent-Type: application/json\r\n" .. connection
        .. authorization .. cookie .. "Content-Length: " .. #body .. "\r\n\r\n" .. body
    end
  end
  local thinkMs = tonumber(settings.thinkMs or 0)
  if thinkMs > 0 then
    math.randomseed(1)
    function delay() return math.random(thinkMs / 2, thinkMs * 3 / 2) end
  end
end

-- A prime step visits every request once, in an order that defeats caches.
function request()
  at = (at + 7919) % #requests
  return requests[at + 1]
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    'figures {"requests":%d,"durationUs":%d,"errors":%d,"p50Us":%.0f,"p99Us":%.0f}\n',
    summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout,
    latency:percentile(50), latency:percentile(99)))
end
